// One client of the HTTP server, from its handshake to its end: reads a request, has it answered, writes, reads the next; or
// becomes a stream of events. It never waits: `step` does what can be done now, and says until when it may take.
//
// Invariant: memory and time of a client are bounded: a head of at most 16 KiB within `request`, an answer taken within
// `answer`, at most `most_backlog` bytes of events not yet taken.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "app/agent/http_message.h"
#include "app/agent/socket.h"
#include "core/time.h"

namespace joulery {

struct HttpLimits {
  std::size_t connections = 128, streams = 32;
  Duration request = milliseconds(10'000);  // from the first byte of a request to its last; the handshake with the first
  Duration idle = milliseconds(30'000);     // between two requests
  Duration answer = milliseconds(60'000);   // until an answer was taken
  Duration stall = milliseconds(15'000);    // until some of a stream's events were taken
  Duration heartbeat = milliseconds(15'000);
  std::size_t most_backlog = 262'144;       // a stream that lags more loses events
};

// What requests are answered with. Called by the server's thread alone, but for what an answer leaves for later.
class HttpHandler {
 public:
  virtual ~HttpHandler() = default;
  virtual HttpAnswer answer(const HttpRequest& request, bool loopback) = 0;  // loopback: the listener is on a loopback address
  virtual HttpAnswer refusal(int status, std::string_view why) = 0;
  virtual std::string event(const HttpRequest& stream) = 0;                  // what to send a stream now; "" for nothing
};

class HttpConnection {
 public:
  HttpConnection(std::uint64_t number, Socket socket, bool loopback, const HttpLimits& limits, MonoTime now);

  std::uint64_t number() const { return number_; }  // no other connection of this server has it
  int descriptor() const { return socket_.descriptor(); }
  short events() const { return wanted_; }          // for poll()
  MonoTime deadline() const { return deadline_; }
  bool finished() const { return state_ == State::finished; }
  bool streaming() const { return state_ == State::streaming; }
  // Waits for a client who has said nothing yet: the first to go where too many are there.
  bool waiting() const { return state_ == State::shaking || state_ == State::reading; }

  // `streams_left`: whether one more stream may begin.
  void step(HttpHandler& handler, bool streams_left, MonoTime now);
  void expire(HttpHandler& handler, MonoTime now);  // the deadline has passed
  void send_event(std::string_view text, MonoTime now);
  // The answer that is to be made elsewhere, once; empty where there is none. Then deliver() it.
  std::function<HttpAnswer()> take_task() { return std::exchange(task_, {}); }
  void deliver(const HttpAnswer& made, MonoTime now);
  const HttpRequest& request() const { return request_; }

 private:
  enum class State : std::uint8_t { shaking, reading, pending, writing, streaming, draining, finished };
  bool advance(HttpHandler& handler, bool streams_left, MonoTime now);  // false where nothing more can be done now
  bool read_request(HttpHandler& handler, bool streams_left, MonoTime now);
  bool write_some(MonoTime now);
  bool drain();
  bool wait_for(Io io);
  bool wait_for_answer(std::function<HttpAnswer()> task, MonoTime now);
  void answer(const HttpAnswer& answer, bool keep_alive, MonoTime now);
  void after_answer(MonoTime now);

  const std::uint64_t number_;
  Socket socket_;
  const bool loopback_;
  const HttpLimits& limits_;
  State state_ = State::shaking;
  short wanted_;
  MonoTime deadline_;
  std::string in_, out_;
  std::size_t written_ = 0;  // of out_
  bool keep_alive_ = false, stream_follows_ = false;
  std::function<HttpAnswer()> task_;
  HttpRequest request_;
};

}  // namespace joulery
