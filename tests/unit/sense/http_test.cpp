#include "sense/remote/http.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "web_server.h"

namespace joulery {
namespace {

using ::testing::HasSubstr;

HttpClient client(HttpAccess access = {}) {
  auto made = HttpClient::make(std::move(access));
  EXPECT_TRUE(made) << made.error().what;
  return *std::move(made);
}

TEST(Http, AnAnswerHasStatusHeadersAndBody) {
  const WebServer server([](const WebRequest&) { return WebServer::answer(404, "none", "X-Auth-Token:  abc \r\n"); });
  const auto answer = client().send({.url = server.url("/x")}, seconds(5));
  ASSERT_TRUE(answer) << answer.error().what;
  EXPECT_EQ(answer->status, 404);
  EXPECT_EQ(answer->body, "none");
  EXPECT_EQ(answer->header("x-auth-token"), "abc");
  EXPECT_EQ(answer->header("x-none"), "");
  EXPECT_EQ(server.requests().at(0).path, "/x");
}

TEST(Http, SendsThePasswordOnlyWhereItShall) {
  const WebServer server([](const WebRequest&) { return WebServer::answer(200, ""); });
  HttpAccess access;
  access.user = "reader";
  access.password.emplace("hunter2");
  HttpClient http = client(std::move(access));
  ASSERT_TRUE(http.send({.url = server.url()}, seconds(5)));
  http.send_password_always(false);
  ASSERT_TRUE(http.send({.url = server.url()}, seconds(5)));
  EXPECT_TRUE(server.requests()[0].has("Authorization: Basic cmVhZGVyOmh1bnRlcjI="));  // base64 of reader:hunter2
  EXPECT_FALSE(server.requests()[1].has("Authorization"));
}

TEST(Http, SendsATokenAndABody) {
  const WebServer server([](const WebRequest&) { return WebServer::answer(200, ""); });
  HttpAccess access;
  access.token.emplace("t0ken");
  const Secret session("sess");
  HttpCall request{.method = "POST", .url = server.url("/s")};
  request.body = "{}";
  request.session_token = &session;
  ASSERT_TRUE(client(std::move(access)).send(request, seconds(5)));
  const WebRequest seen = server.requests().at(0);
  EXPECT_EQ(seen.method, "POST");
  EXPECT_EQ(seen.body, "{}");
  EXPECT_TRUE(seen.has("Authorization: Bearer t0ken"));
  EXPECT_TRUE(seen.has("X-Auth-Token: sess"));
  EXPECT_TRUE(seen.has("Content-Type: application/json"));
}

TEST(Http, FollowsRedirectsOnTheSameHostAlone) {
  const WebServer elsewhere([](const WebRequest&) { return WebServer::answer(200, "stolen"); });
  const WebServer server([&](const WebRequest& request) {
    if (request.path == "/here") return WebServer::answer(302, "", "Location: /there\r\n");
    if (request.path == "/there") return WebServer::answer(200, "good");
    if (request.path == "/loop") return WebServer::answer(302, "", "Location: /loop\r\n");
    return WebServer::answer(307, "", "Location: " + elsewhere.url("/") + "\r\n");
  });
  HttpClient http = client();
  EXPECT_EQ(http.send({.url = server.url("/here")}, seconds(5))->body, "good");
  const auto away = http.send({.url = server.url("/away")}, seconds(5));
  ASSERT_FALSE(away);
  EXPECT_THAT(away.error().what, HasSubstr("another host"));
  EXPECT_TRUE(elsewhere.requests().empty());
  EXPECT_EQ(http.send({.url = server.url("/loop")}, seconds(5)).error().reason, MissingReason::rubbish);
}

TEST(Http, SilenceIsTimedOutAndNobodyIsGone) {
  std::string gone;
  {
    const WebServer server([](const WebRequest&) { return std::string(); });
    EXPECT_EQ(client().send({.url = server.url()}, milliseconds(200)).error().reason, MissingReason::timed_out);
    gone = server.url();
  }
  EXPECT_EQ(client().send({.url = gone}, seconds(5)).error().reason, MissingReason::gone);
  EXPECT_EQ(client().send({.url = "http://127.0.0.1:1/"}, Duration{}).error().reason, MissingReason::timed_out);
}

TEST(Http, AnAnswerWithoutAnEndIsCutOff) {
  const std::string long_body(5 << 20, 'x');
  const WebServer server([&](const WebRequest& request) {
    return request.path == "/body" ? WebServer::answer(200, long_body) : WebServer::answer(200, "", "X: " + long_body + "\r\n");
  });
  for (const char* path : {"/body", "/head"}) {
    const auto answer = client().send({.url = server.url(path)}, seconds(10));
    ASSERT_FALSE(answer) << path;
    EXPECT_EQ(answer.error().reason, MissingReason::rubbish) << path << answer.error().what;
  }
}

TEST(Http, WhatSpeaksNoHttpIsRubbish) {
  const WebServer server([](const WebRequest&) { return std::string("\x00\xff rubbish", 10); });
  EXPECT_EQ(client().send({.url = server.url()}, seconds(5)).error().reason, MissingReason::rubbish);
  EXPECT_EQ(client().send({.url = "file:///etc/passwd"}, seconds(5)).error().reason, MissingReason::rubbish);
}

TEST(Http, TakesNoProxyFromTheEnvironment) {
  const WebServer proxy([](const WebRequest&) { return WebServer::answer(200, "by proxy"); });
  const WebServer server([](const WebRequest&) { return WebServer::answer(200, "direct"); });
  ::setenv("http_proxy", proxy.url().c_str(), 1);
  const auto answer = client().send({.url = server.url()}, seconds(5));
  ::unsetenv("http_proxy");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->body, "direct");
}

TEST(OriginOfUrl, IsSchemeHostAndPort) {
  EXPECT_EQ(origin_of_url("https://BMC.lan:8443/redfish/v1"), "https://bmc.lan:8443");
  EXPECT_EQ(origin_of_url("https://bmc:443?x"), "https://bmc");
  EXPECT_EQ(origin_of_url("http://bmc:80"), "http://bmc");
  EXPECT_EQ(origin_of_url("https://bmc:80"), "https://bmc:80");
  EXPECT_EQ(origin_of_url("bmc"), "");
}

TEST(TroubleOfStatus, LoginAbsenceAndTheRestAreToldApart) {
  EXPECT_FALSE(trouble_of_status(200));
  EXPECT_EQ(trouble_of_status(401)->reason, MissingReason::permission);
  EXPECT_EQ(trouble_of_status(404)->reason, MissingReason::not_supported);
  EXPECT_EQ(trouble_of_status(503)->reason, MissingReason::io_error);
}

TEST(ReadHttpAccess, ATokenAndAPasswordExcludeEachOther) {
  ::setenv("JOULERY_TEST_SECRET", "hunter2", 1);
  Settings settings;
  settings.set("meters.a.password_env", {std::string("JOULERY_TEST_SECRET"), {"c.toml", 1}});
  std::string warning;
  EXPECT_FALSE(read_http_access(settings, "meters.a", warning));  // no user
  settings.set("meters.a.user", {std::string("reader"), {"c.toml", 2}});
  EXPECT_TRUE(read_http_access(settings, "meters.a", warning)->password);
  settings.set("meters.a.token_env", {std::string("JOULERY_TEST_SECRET"), {"c.toml", 3}});
  EXPECT_FALSE(read_http_access(settings, "meters.a", warning));
  ::unsetenv("JOULERY_TEST_SECRET");
}

}  // namespace
}  // namespace joulery
