#include "app/agent/http_message.h"

#include <gtest/gtest.h>

namespace joulery {
namespace {

TEST(HttpMessage, ParsesARequest) {
  const std::string whole =
      "\r\nGET /api/v1/query?series=a&match=b%3Dc+d&empty&e= HTTP/1.1\r\nHost: localhost:9787\r\nACCEPT:\t text/plain \r\n\r\n";
  const auto parsed = parse_request(whole + "GET");
  ASSERT_TRUE(parsed);
  ASSERT_EQ(parsed->status, 0) << parsed->why;
  const HttpRequest& request = parsed->request;
  EXPECT_EQ(request.method, "GET");
  EXPECT_EQ(request.path, "/api/v1/query");
  EXPECT_TRUE(request.keep_alive);
  EXPECT_EQ(*request.header("accept"), "text/plain");
  EXPECT_EQ(*request.parameter("match"), "b=c d");
  EXPECT_EQ(*request.parameter("empty"), "");
  EXPECT_FALSE(request.parameter("absent"));
  EXPECT_EQ(parsed->bytes, whole.size());
}

TEST(HttpMessage, WaitsForTheWholeHead) {
  const std::string whole = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
  for (std::size_t size = 0; size < whole.size(); ++size) EXPECT_FALSE(parse_request(whole.substr(0, size))) << size;
  EXPECT_TRUE(parse_request(whole));
}

TEST(HttpMessage, WhoStaysAndWhoGoes) {
  const auto keeps = [](const char* text) { return parse_request(text)->request.keep_alive; };
  EXPECT_TRUE(keeps("GET / HTTP/1.1\r\nHost: a\r\n\r\n"));
  EXPECT_FALSE(keeps("GET / HTTP/1.1\r\nHost: a\r\nConnection: Close\r\n\r\n"));
  EXPECT_FALSE(keeps("GET / HTTP/1.0\r\n\r\n"));
  EXPECT_TRUE(keeps("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"));
}

TEST(HttpMessage, AHeadIsBoundedBeforeItEnds) {
  const std::string endless = "GET / HTTP/1.1\r\nX: " + std::string(most_head_bytes, 'a');
  const auto parsed = parse_request(endless);
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->status, 431);
}

TEST(HttpMessage, QueriesThatCannotBeDecoded) {
  for (const char* query : {"a=%", "a=%4", "a=%zz", "a=%00", "%0a=1", "a=\x7f"}) EXPECT_FALSE(parse_query(query)) << query;
  std::string many = "a";
  for (std::size_t i = 0; i < most_parameters; ++i) many += "&a";
  EXPECT_FALSE(parse_query(many));
  EXPECT_TRUE(parse_query("&&&")->empty());
  EXPECT_EQ(parse_query("%C3%A4=%ff")->front().second, "\xff");
}

TEST(HttpMessage, AnswersHaveADateAndALength) {
  HttpAnswer answer;
  answer.body = "{}\n";
  EXPECT_EQ(answer_head(answer, true, 784'111'777),  // the example of RFC 9110, 5.6.7
            "HTTP/1.1 200 OK\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\nContent-Type: application/json\r\nContent-Length: 3\r\n"
            "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nConnection: keep-alive\r\n\r\n");
  answer.stream = true;
  EXPECT_EQ(answer_head(answer, true, 0).find("Content-Length"), std::string::npos);
  EXPECT_NE(answer_head(answer, true, 0).find("Connection: close"), std::string::npos);
}

}  // namespace
}  // namespace joulery
