#include "app/agent/http_connection.h"

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <limits>
#include <utility>

namespace joulery {
namespace {

constexpr MonoTime never{std::numeric_limits<std::int64_t>::max()};
constexpr Duration last_moments = milliseconds(1'000);  // for what a client still sends to one who has answered for good

}  // namespace

HttpConnection::HttpConnection(std::uint64_t number, Socket socket, bool loopback, const HttpLimits& limits, MonoTime now)
    : number_(number), socket_(std::move(socket)), loopback_(loopback), limits_(limits), wanted_(POLLIN), deadline_(now + limits.request) {}

void HttpConnection::step(HttpHandler& handler, bool streams_left, MonoTime now) {
  while (!finished() && advance(handler, streams_left, now)) {}
}

bool HttpConnection::advance(HttpHandler& handler, bool streams_left, MonoTime now) {
  switch (state_) {
    case State::shaking: {
      const Io io = socket_.shake_hands().state;
      if (io != Io::done) return wait_for(io);
      state_ = State::reading;
      return true;
    }
    case State::reading: return read_request(handler, streams_left, now);
    case State::pending: state_ = State::finished; return false;  // only a hanging up wakes it
    case State::writing:
    case State::streaming: return write_some(now);
    case State::draining: return drain();
    case State::finished: return false;
  }
  return false;
}

bool HttpConnection::wait_for(Io io) {
  if (io == Io::closed) state_ = State::finished;
  wanted_ = io == Io::wants_write ? POLLOUT : POLLIN;
  return false;
}

bool HttpConnection::read_request(HttpHandler& handler, bool streams_left, MonoTime now) {
  if (auto parsed = parse_request(in_)) {
    if (parsed->status != 0) {
      answer(handler.refusal(parsed->status, parsed->why), false, now);
      return true;
    }
    in_.erase(0, parsed->bytes);
    request_ = std::move(parsed->request);
    HttpAnswer made = handler.answer(request_, loopback_);
    if (made.stream && !streams_left) made = handler.refusal(503, "too many clients follow the events");
    if (request_.method == "HEAD") made.stream = false;
    if (made.later) return wait_for_answer(std::move(made.later), now);
    answer(made, request_.keep_alive, now);
    return true;
  }
  std::array<char, 4096> bytes;
  const IoResult got = socket_.read(bytes);
  if (got.state != Io::done) return wait_for(got.state);
  if (in_.empty()) deadline_ = now + limits_.request;
  in_.append(bytes.data(), got.bytes);
  return true;
}

// Until then nothing is read: who asks on meanwhile waits.
bool HttpConnection::wait_for_answer(std::function<HttpAnswer()> task, MonoTime now) {
  task_ = std::move(task);
  state_ = State::pending;
  wanted_ = 0;
  deadline_ = now + limits_.answer;
  return false;
}

// Written at the next turn, as all that is ready.
void HttpConnection::deliver(const HttpAnswer& made, MonoTime now) {
  if (state_ != State::pending) return;
  answer(made, request_.keep_alive, now);
  wanted_ = POLLOUT;
}

void HttpConnection::answer(const HttpAnswer& answer, bool keep_alive, MonoTime now) {
  keep_alive_ = keep_alive && !answer.stream;
  stream_follows_ = answer.stream;
  out_ = answer_head(answer, keep_alive_, wall_now().ns / 1'000'000'000);
  if (request_.method != "HEAD") out_ += answer.body;
  written_ = 0;
  state_ = State::writing;
  deadline_ = now + limits_.answer;
}

bool HttpConnection::write_some(MonoTime now) {
  if (written_ < out_.size()) {
    const IoResult sent = socket_.write(std::string_view(out_).substr(written_));
    if (sent.state != Io::done) return wait_for(sent.state);
    written_ += sent.bytes;
    if (streaming()) deadline_ = now + limits_.stall;
    return true;
  }
  out_.clear();
  written_ = 0;
  if (!streaming()) {
    after_answer(now);
    return false;
  }
  deadline_ = never;
  return drain();  // notices when the client hangs up
}

void HttpConnection::after_answer(MonoTime now) {
  std::string().swap(out_);  // a great answer is not kept for an idle client
  wanted_ = POLLOUT;  // comes back at once, after the others: requests sent all at a time must not keep the server to one client
  if (stream_follows_) {
    state_ = State::streaming;
    deadline_ = never;
  } else if (keep_alive_) {
    state_ = State::reading;
    deadline_ = now + (in_.empty() ? limits_.idle : limits_.request);
  } else {
    ::shutdown(socket_.descriptor(), SHUT_WR);
    state_ = State::draining;
    deadline_ = now + last_moments;
  }
}

// Reads and forgets: closing with unread bytes would reset the connection, and the client might lose its answer. Who follows
// events has nothing more to say.
bool HttpConnection::drain() {
  std::array<char, 4096> bytes;
  const IoResult got = socket_.read(bytes);
  if (got.state != Io::done) return wait_for(got.state);
  if (streaming()) state_ = State::finished;
  wanted_ = POLLIN;
  return false;
}

void HttpConnection::expire(HttpHandler& handler, MonoTime now) {
  if (state_ == State::reading && !in_.empty()) {
    answer(handler.refusal(408, "the request took too long"), false, now);
    deadline_ = now + last_moments;
    step(handler, false, now);
    return;
  }
  state_ = State::finished;
}

void HttpConnection::send_event(std::string_view text, MonoTime now) {
  if (text.empty() || !streaming() || out_.size() - written_ + text.size() > limits_.most_backlog) return;
  if (out_.empty()) deadline_ = now + limits_.stall;
  out_.erase(0, std::exchange(written_, 0));
  out_ += text;
}

}  // namespace joulery
