// A web server on loopback for tests: one thread, one request a connection, answers from a function.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace joulery {

struct WebRequest {
  std::string method, path, head, body;
  bool has(std::string_view line) const { return head.contains(line); }
};

class WebServer {
 public:
  // The whole answer, head and all; "" leaves the connection open and says nothing.
  using Answering = std::function<std::string(const WebRequest&)>;

  explicit WebServer(Answering answering) : answering_(std::move(answering)), listener_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    ::bind(listener_, reinterpret_cast<sockaddr*>(&address), length);
    ::listen(listener_, 16);
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &length);
    port_ = ntohs(address.sin_port);
    thread_ = std::jthread([this] { serve(); });
  }
  ~WebServer() {
    stop_ = true;
    thread_.join();
    for (const int open : silent_) ::close(open);
    ::close(listener_);
  }
  std::string url(std::string_view path = "") const { return "http://127.0.0.1:" + std::to_string(port_) + std::string(path); }
  std::vector<WebRequest> requests() const {
    const std::scoped_lock lock(mutex_);
    return requests_;
  }

  static std::string answer(int status, std::string_view body, std::string_view headers = "") {
    return "HTTP/1.1 " + std::to_string(status) + " X\r\n" + std::string(headers) + "Content-Length: " + std::to_string(body.size()) +
           "\r\nConnection: close\r\n\r\n" + std::string(body);
  }

 private:
  void serve() {
    while (!stop_) {
      pollfd waiting{listener_, POLLIN, 0};
      if (::poll(&waiting, 1, 20) <= 0) continue;
      const int connection = ::accept(listener_, nullptr, nullptr);
      if (connection >= 0) handle(connection);
    }
  }

  void handle(int connection) {
    const WebRequest request = read_request(connection);
    {
      const std::scoped_lock lock(mutex_);
      requests_.push_back(request);
    }
    const std::string answer = answering_(request);
    if (answer.empty()) return silent_.push_back(connection);
    for (std::size_t sent = 0; sent < answer.size();) {
      const ssize_t count = ::send(connection, answer.data() + sent, answer.size() - sent, MSG_NOSIGNAL);
      if (count <= 0) break;
      sent += static_cast<std::size_t>(count);
    }
    ::shutdown(connection, SHUT_WR);
    char rest[256];
    while (::recv(connection, rest, sizeof rest, 0) > 0) continue;
    ::close(connection);
  }

  static WebRequest read_request(int connection) {
    WebRequest request;
    char buffer[4096];
    std::size_t wanted = std::string::npos;
    std::string all;
    while (wanted == std::string::npos || all.size() < wanted) {
      const ssize_t got = ::recv(connection, buffer, sizeof buffer, 0);
      if (got <= 0) break;
      all.append(buffer, static_cast<std::size_t>(got));
      const auto head = all.find("\r\n\r\n");
      if (head == std::string::npos) continue;
      const auto length = all.find("Content-Length: ");
      wanted = head + 4 + (length < head ? std::stoul(all.substr(length + 16)) : 0);
    }
    const auto head = std::min(all.find("\r\n\r\n"), all.size());
    request.head = all.substr(0, head);
    request.body = all.substr(std::min(head + 4, all.size()));
    const auto first = request.head.find(' ');
    request.method = request.head.substr(0, first);
    request.path = request.head.substr(first + 1, request.head.find(' ', first + 1) - first - 1);
    return request;
  }

  Answering answering_;
  int listener_;
  std::uint16_t port_ = 0;
  std::atomic<bool> stop_ = false;
  mutable std::mutex mutex_;
  std::vector<WebRequest> requests_;
  std::vector<int> silent_;
  std::jthread thread_;
};

}  // namespace joulery
