// HTTP messages on their way through the proxy.
#include "app/serve/relay_message.h"

#include <gtest/gtest.h>

namespace joulery {
namespace {

TEST(RelayMessage, HeadersOfOneConnectionStayBehind) {
  const auto head = read_request_head(
      "POST /v1/completions?x=1 HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer k\r\nConnection: keep-alive, X-Own\r\nX-Own: 1\r\nKeep-Alive: "
      "5\r\n"
      "TE: trailers, deflate;q=0.5\r\nTransfer-Encoding: chunked\r\nAccept: */*\r\n\r\nrest");
  ASSERT_TRUE(head && *head);
  EXPECT_EQ((*head)->target, "/v1/completions?x=1");
  EXPECT_EQ((*head)->framing, BodyFraming::chunked);
  EXPECT_TRUE((*head)->keep_alive);
  EXPECT_TRUE(takes_trailers(**head));
  EXPECT_EQ(forwarded_headers(**head), "Authorization: Bearer k\r\nAccept: */*\r\n");
}

TEST(RelayMessage, HowLongAnAnswerIs) {
  const auto framing = [](const char* text, const char* method) { return (*read_answer_head(text, method))->framing; };
  EXPECT_EQ(framing("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", "GET"), BodyFraming::length);
  EXPECT_EQ(framing("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", "HEAD"), BodyFraming::none);
  EXPECT_EQ(framing("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "GET"), BodyFraming::chunked);
  EXPECT_EQ(framing("HTTP/1.1 204 No Content\r\n\r\n", "GET"), BodyFraming::none);
  EXPECT_EQ(framing("HTTP/1.0 200 OK\r\n\r\n", "GET"), BodyFraming::until_close);
  EXPECT_FALSE(*read_answer_head("HTTP/1.1 200 OK\r\nContent-Le", "GET"));
  EXPECT_EQ(read_answer_head("SSH-2.0-OpenSSH\r\n\r\n", "GET").error().status, 502);
}

TEST(RelayMessage, ChunksHoweverTheyAreCut) {
  const std::string sent = "5;ext=1\r\nhello\r\n0006\r\n world\r\n0\r\nTrailer: x\r\n\r\nnext";
  for (std::size_t size = 1; size <= sent.size(); ++size) {
    BodyReader reader(BodyFraming::chunked, 0);
    std::string in, out;
    for (std::size_t at = 0; at < sent.size(); at += size) {
      in += sent.substr(at, size);
      ASSERT_TRUE(reader.take(in, out, 3)) << size;
      while (!reader.finished()) {
        const std::size_t before = in.size();
        ASSERT_TRUE(reader.take(in, out, 3));
        if (in.size() == before) break;
      }
    }
    EXPECT_EQ(out, "hello world");
    EXPECT_TRUE(reader.finished());
    EXPECT_EQ(in, "next");
  }
}

TEST(RelayMessage, BadChunksAreRefused) {
  for (const char* bad : {"x\r\n", "-1\r\n", "5\r\nhelloXX\r\n", "ffffffffffffffff\r\n", "\r\n"}) {
    BodyReader reader(BodyFraming::chunked, 0);
    std::string in = bad, out;
    bool good = true;
    for (int i = 0; i < 10 && good; ++i) good = reader.take(in, out, 1000);
    EXPECT_FALSE(good) << bad;
  }
  BodyReader endless(BodyFraming::chunked, 0);
  std::string in(most_chunk_line_bytes + 1, '1'), out;
  EXPECT_FALSE(endless.take(in, out, 1000));
}

TEST(RelayMessage, AChunkOfNothingWouldBeTheEnd) {
  EXPECT_EQ(as_chunk(""), "");
  EXPECT_EQ(as_chunk("hello world!!!!!"), "10\r\nhello world!!!!!\r\n");
}

}  // namespace
}  // namespace joulery
