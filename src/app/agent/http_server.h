// A small HTTP/1.1 server for one thread: it polls, so a client costs a few kilobytes and no thread, a slow one delays
// nobody, and stopping it takes no longer than answering one request. docs/decisions/0014 says why it is our own.
//
// Invariant: all handlers run in the server's thread, one at a time; what they leave for later (HttpAnswer::later) is made in
// one other thread, one at a time. No client holds the server for longer than the rest takes.
#pragma once

#include <atomic>
#include <list>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "app/agent/answer_thread.h"
#include "app/agent/http_connection.h"
#include "app/agent/listen_address.h"
#include "app/agent/socket.h"
#include "core/result.h"

namespace joulery {

class HttpServer {
 public:
  // `identity`: for TLS on all listeners; null without. All four must outlive the server.
  HttpServer(HttpHandler& handler, const TlsIdentity* identity, HttpLimits limits = {});
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // Before start(). Errors: busy, where another listens there; permission; io.
  Result<void> listen(const ListenAddress& address);
  // "127.0.0.1:9787", with the real port where 0 was asked for.
  const std::vector<std::string>& addresses() const { return addresses_; }

  Result<void> start();
  void wake();  // there is something new: the streams are asked for their next event. From any thread.
  void stop();  // hangs up on all clients; returns when the thread has ended

 private:
  struct Listener {
    int descriptor;
    bool loopback;
  };
  void run();
  void poke();
  void accept_from(const Listener& listener);
  void make_room();
  void serve_ready(const std::vector<short>& happened);
  void hand_over(HttpConnection& one, MonoTime now);
  void deliver_ready();
  void tell_streams(bool heartbeat);
  std::size_t streams() const;
  int milliseconds_left() const;

  HttpHandler& handler_;
  const TlsIdentity* identity_;
  const HttpLimits limits_;
  std::vector<Listener> listeners_;
  std::vector<std::string> addresses_;
  int wake_descriptor_ = -1;
  std::atomic<bool> stopping_ = false, new_events_ = false;
  std::list<HttpConnection> connections_;
  MonoTime next_heartbeat_, deaf_until_;
  std::uint64_t accepted_ = 0;
  std::unique_ptr<AnswerThread> answers_;  // from start() to stop()
  std::thread thread_;
};

}  // namespace joulery
