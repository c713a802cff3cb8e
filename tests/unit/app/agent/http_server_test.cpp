#include "app/agent/http_server.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <list>

namespace joulery {
namespace {

class Echo : public HttpHandler {
 public:
  HttpAnswer answer(const HttpRequest& request, bool loopback) override {
    HttpAnswer made;
    made.body = request.path + (loopback ? " loopback" : "");
    made.stream = request.path == "/stream";
    if (request.path == "/great") made.body.assign(32 << 20, 'x');
    if (request.path == "/slow")
      made.later = [this] {
        while (!may_answer) usleep(1000);
        HttpAnswer late;
        late.body = "at last";
        return late;
      };
    return made;
  }
  std::atomic<bool> may_answer = false;
  HttpAnswer refusal(int status, std::string_view why) override {
    HttpAnswer made;
    made.status = status;
    made.body = why;
    return made;
  }
  std::string event(const HttpRequest& stream) override { return "data: " + stream.path + "\n\n"; }
};

// A client that waits for what comes, as long as it takes.
class Client {
 public:
  explicit Client(const HttpServer& server) {
    const std::string& address = server.addresses().front();
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    to.sin_port = htons(static_cast<std::uint16_t>(std::stoi(address.substr(address.find(':') + 1))));
    EXPECT_EQ(::connect(descriptor_, reinterpret_cast<sockaddr*>(&to), sizeof to), 0);
  }
  ~Client() { ::close(descriptor_); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  void send(std::string_view text) const {
    EXPECT_EQ(::send(descriptor_, text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
  }
  std::string until(std::string_view end) {
    while (got_.find(end) == std::string::npos && more()) {}
    return got_;
  }
  std::string until_hung_up() {
    while (more()) {}
    return got_;
  }

 private:
  bool more() {
    char bytes[65536];
    const ssize_t size = ::recv(descriptor_, bytes, sizeof bytes, 0);
    if (size > 0) got_.append(bytes, static_cast<std::size_t>(size));
    return size > 0;
  }
  int descriptor_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  std::string got_;
};

// Limits so short that a test need not wait; what they do does not depend on how long they are.
HttpLimits short_limits() {
  HttpLimits limits;
  limits.request = milliseconds(50);
  limits.idle = milliseconds(50);
  limits.answer = milliseconds(100);
  limits.stall = milliseconds(100);
  limits.heartbeat = milliseconds(20);
  return limits;
}

struct Running {
  explicit Running(HttpLimits limits) : server(echo, nullptr, limits) {
    EXPECT_TRUE(server.listen(*ListenAddress::parse("127.0.0.1:0")));
    EXPECT_TRUE(server.start());
  }
  Echo echo;
  HttpServer server;
};

TEST(HttpServer, WhoIsTooSlowWithARequestIsTold) {
  Running running(short_limits());
  Client slow(running.server);
  slow.send("GET / HTT");
  EXPECT_TRUE(slow.until_hung_up().starts_with("HTTP/1.1 408 "));
}

TEST(HttpServer, WhoSaysNothingIsHungUpOn) {
  Running running(short_limits());
  Client silent(running.server);
  EXPECT_EQ(silent.until_hung_up(), "");
  HttpLimits limits;
  limits.idle = milliseconds(50);
  Running patient(limits);
  Client idle(patient.server);
  idle.send("GET /a HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_TRUE(idle.until_hung_up().ends_with("/a loopback"));
}

TEST(HttpServer, WhoDoesNotTakeAnAnswerIsHungUpOn) {
  Running running(short_limits());
  Client greedy(running.server);
  greedy.send("GET /great HTTP/1.1\r\nHost: x\r\n\r\n");
  ::usleep(900'000);  // well beyond the limit: less than all of it can be there then
  EXPECT_LT(greedy.until_hung_up().size(), std::size_t{32} << 20);
}

TEST(HttpServer, StreamsHearEveryWakeAndAHeartBetween) {
  Running running(short_limits());
  Client client(running.server);
  client.send("GET /stream HTTP/1.1\r\nHost: x\r\n\r\n");
  client.until("/stream loopback");
  client.until(":\n\n");
  running.server.wake();
  EXPECT_NE(client.until("data: /stream\n\n").find("data: /stream\n\n"), std::string::npos);
}

TEST(HttpServer, AnAnswerThatTakesLongDelaysNobodyElse) {
  Running running(HttpLimits{});
  Client patient(running.server), gone(running.server), other(running.server);
  gone.send("GET /slow HTTP/1.1\r\nHost: x\r\n\r\n");
  patient.send("GET /slow HTTP/1.1\r\nHost: x\r\n\r\nGET /after HTTP/1.1\r\nHost: x\r\n\r\n");
  other.send("GET /quick HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_NE(other.until("/quick loopback").find("/quick loopback"), std::string::npos);
  running.echo.may_answer = true;
  const std::string got = patient.until("/after loopback");
  EXPECT_LT(got.find("at last"), got.find("/after loopback"));
}

TEST(HttpServer, TooManyLongQuestionsAreRefused) {
  Running running(HttpLimits{});
  std::list<Client> asking;
  for (std::size_t i = 0; i < AnswerThread::most_waiting + 2; ++i)  // one of them is being made
    asking.emplace_back(running.server).send("GET /slow HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  std::size_t refused = 0;
  Client last(running.server);
  last.send("GET /slow HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  EXPECT_TRUE(last.until_hung_up().starts_with("HTTP/1.1 503 "));
  running.echo.may_answer = true;
  for (Client& one : asking) refused += one.until_hung_up().starts_with("HTTP/1.1 503 ") ? 1U : 0U;
  EXPECT_LE(refused, 2U);
}

TEST(HttpServer, StopsWithStreamsOpenAndStartsNoMore) {
  HttpLimits limits;
  auto running = std::make_unique<Running>(limits);
  Client stream(running->server), silent(running->server);
  stream.send("GET /stream HTTP/1.1\r\nHost: x\r\n\r\n");
  stream.until("/stream loopback");
  running->server.stop();
  stream.until_hung_up();
  silent.until_hung_up();
  running->server.stop();  // twice is once
}

TEST(HttpServer, WhoCameFirstAndAskedNothingMakesRoom) {
  HttpLimits limits;
  limits.connections = 2;
  Running running(limits);
  Client first(running.server);
  Client second(running.server);
  second.send("GET /stream HTTP/1.1\r\nHost: x\r\n\r\n");
  second.until("/stream loopback");
  Client third(running.server);
  third.send("GET /c HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(first.until_hung_up(), "");
  EXPECT_NE(third.until("/c loopback").find("/c loopback"), std::string::npos);
}

}  // namespace
}  // namespace joulery
