#include "app/agent/serve.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "app/agent/access.h"
#include "app/agent/api_query.h"
#include "app/agent/listen_address.h"

namespace joulery {
namespace {

TEST(ListenAddress, ReadsAndTells) {
  struct Case {
    const char *text, *told;
    bool loopback;
  };
  constexpr Case cases[] = {{"127.0.0.1:9787", "127.0.0.1:9787", true},
                            {"127.0.0.1", "127.0.0.1:9787", true},
                            {"127.9.9.9:1", "127.9.9.9:1", true},
                            {"localhost:80", "127.0.0.1:80", true},
                            {"[::1]", "[::1]:9787", true},
                            {"[::1]:0", "[::1]:0", true},
                            {"0.0.0.0:0", "0.0.0.0:0", false},
                            {"[::]:65535", "[::]:65535", false},
                            {"10.0.0.7:1", "10.0.0.7:1", false},
                            {"[::ffff:127.0.0.1]:1", "[::ffff:127.0.0.1]:1", false}};
  for (const Case& one : cases) {
    const auto address = ListenAddress::parse(one.text);
    ASSERT_TRUE(address) << one.text;
    EXPECT_EQ(address->text(), one.told);
    EXPECT_EQ(address->is_loopback(), one.loopback) << one.text;
  }
  for (const char* text : {"", ":9787", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1", "127.0.0.1:1x", "::1", "[::1", "[::1]x", "[::1]9",
                           "node7:1", "1.2.3:4"})
    EXPECT_FALSE(ListenAddress::parse(text)) << text;
}

HttpRequest request_with(const char* host, const char* authorization = nullptr) {
  HttpRequest request{"GET", "/", {}, {{"host", host}}, true};
  if (authorization) request.headers.emplace_back("authorization", authorization);
  return request;
}

TEST(Access, WhoMayReadWhat) {
  const Access open(std::nullopt, {}), guarded(Secret("secret-secret-secret"), {"node7"});
  EXPECT_EQ(open.judge(request_with("localhost"), true).status, 0);
  EXPECT_FALSE(open.judge(request_with("localhost"), true).trusted);
  EXPECT_EQ(open.judge(request_with("localhost"), false).status, 401);
  EXPECT_EQ(open.judge(request_with("localhost", "Bearer "), true).status, 401) << "no token is no empty token";
  EXPECT_TRUE(guarded.judge(request_with("localhost", "Bearer secret-secret-secret"), true).trusted);
  EXPECT_TRUE(guarded.judge(request_with("anything", "Bearer secret-secret-secret"), false).trusted);
  EXPECT_EQ(guarded.judge(request_with("anything", "Bearer secret-secret-secret"), true).status, 403);
  EXPECT_EQ(guarded.judge(request_with("Node7:9787"), true).status, 0);
  for (const char* wrong :
       {"Bearer secret-secret-secre", "Bearer secret-secret-secret ", "Bearer  secret-secret-secret", "secret-secret-secret", ""})
    EXPECT_EQ(guarded.judge(request_with("localhost", wrong), true).status, 401) << wrong;
}

Settings with(std::initializer_list<std::pair<const char*, SettingValue>> values) {
  Settings settings;
  for (const auto& [key, value] : values) settings.set(key, {value, {"--set", 0}});
  return settings;
}

TEST(ServeOptions, FromSettings) {
  ::setenv("JOULERY_TEST_TOKEN", "0123456789abcdef", 1);
  const auto options = serve_options(with({{"agent.listen", std::vector<std::string>{"127.0.0.1:0"}},
                                           {"agent.hosts", std::string("node7")},
                                           {"agent.token_env", std::string("JOULERY_TEST_TOKEN")}}));
  ASSERT_TRUE(options) << options.error().line();
  EXPECT_EQ(options->listen, std::vector<std::string>{"127.0.0.1:0"});
  EXPECT_EQ(options->hosts, std::vector<std::string>{"node7"});
  EXPECT_EQ(std::string(options->token->reveal()), "0123456789abcdef");
  Settings from_file = with({{"agent.tls_key", std::string("/etc/key.pem")}});
  from_file.set("agent.tls_cert", {std::string("cert.pem"), {"/etc/joulery/joulery.toml", 7}});
  EXPECT_EQ(serve_options(from_file)->certificate, "/etc/joulery/cert.pem");
  EXPECT_EQ(serve_options(from_file)->key, "/etc/key.pem");
  ::setenv("JOULERY_TEST_TOKEN", "0123456789abcde", 1);
  const auto short_token = serve_options(with({{"agent.token_env", std::string("JOULERY_TEST_TOKEN")}}));
  ASSERT_FALSE(short_token);
  EXPECT_EQ(short_token.error().line().find("0123456789abcde"), std::string::npos) << "a secret in an error";
}

TEST(ServeOptions, NothingLeavesTheMachineUnguarded) {
  LatestNode node([](NodeAccount&) {});
  ServeOptions options;
  options.listen = {"127.0.0.1:0", "0.0.0.0:0"};
  const auto server = AgentServer::start(std::move(options), node, nullptr);
  ASSERT_FALSE(server);
  EXPECT_EQ(server.error().code, ErrorCode::usage);
}

TEST(HistoryQuery, ReadsItsTimes) {
  const WallTime now{1'800'000'000'000'000'000};
  const auto ask = [&](std::vector<std::pair<std::string, std::string>> parameters) {
    parameters.emplace_back("series", "joulery_component_watts");
    return history_query({"GET", "/api/v1/query", std::move(parameters), {}, true}, now);
  };
  const auto usual = ask({});
  ASSERT_TRUE(usual);
  EXPECT_EQ(usual->to, now);
  EXPECT_EQ(usual->from, now - seconds(3600));
  EXPECT_EQ(usual->step, seconds(12));
  const auto day = ask({{"from", "1772359200"}, {"to", "2026-03-02T10:00:00Z"}, {"step", "15"}, {"match", "a=b=c"}, {"match", "d="}});
  ASSERT_TRUE(day) << day.error().line();
  EXPECT_EQ((day->to - day->from), seconds(86'400));  // 1772359200 is 2026-03-01T10:00:00Z
  EXPECT_EQ(day->step, seconds(15));
  EXPECT_EQ(day->labels, (std::map<std::string, std::string>{{"a", "b=c"}, {"d", ""}}));
  EXPECT_EQ(ask({{"from", "-2min"}, {"to", "now"}})->from, now - seconds(120));
  for (const char* time : {"", "-", "--1h", "-1e30h", "1e300", "nan", "inf", "-1", "yesterday", "9999999999", "99999-01-01T00:00:00Z"})
    EXPECT_FALSE(ask({{"from", time}})) << time;
  for (const char* step : {"", "0", "0.5", "nan", "-1s", "1", "1e9999"})
    EXPECT_EQ(ask({{"from", "-1d"}, {"step", step}}).has_value(), false) << step;  // a day of 1 s is too many
}

}  // namespace
}  // namespace joulery
