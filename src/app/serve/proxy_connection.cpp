#include "app/serve/proxy_connection.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <limits>

#include "publish/json_writer.h"

namespace joulery {
namespace {

constexpr std::size_t most_waiting_bytes = 256 << 10, most_held_bytes = 1 << 20, most_asked_bytes = 1 << 20;
constexpr Duration head_time = milliseconds(30'000), idle_time = milliseconds(75'000), connect_time = milliseconds(5'000),
                   answer_time = milliseconds(1'800'000), farewell_time = milliseconds(5'000);

// Not byte by byte: what is left would be moved each time.
void drop_sent(std::string& out, std::size_t& sent) {
  if (sent < out.size() && sent < most_waiting_bytes) return;
  out.erase(0, sent);
  sent = 0;
}

}  // namespace

ProxyConnection::ProxyConnection(int client, const Upstream& upstream, ProxyEvents& events, MonoTime now)
    : client_(client), upstream_(upstream), events_(events), deadline_(now + head_time) {}

ProxyConnection::~ProxyConnection() {
  tell_end(mono_now(), "the proxy was stopped");
  close_server();
  ::close(client_);
}

void ProxyConnection::close_server() {
  server_.close();
  server_done_ = false;
  up_in_.clear();
  up_out_.clear();
  up_sent_ = 0;
}

short ProxyConnection::client_events() const {
  int events = POLLRDHUP;
  if (in_.size() < most_waiting_bytes && up_out_.size() - up_sent_ < most_waiting_bytes && stage_ != Stage::farewell && !client_done_)
    events |= POLLIN;
  if (out_sent_ < out_.size()) events |= POLLOUT;
  return static_cast<short>(events);
}

bool ProxyConnection::reads_server() const {
  return !server_done_ && up_in_.size() < most_waiting_bytes && out_.size() - out_sent_ < most_waiting_bytes;
}

short ProxyConnection::server_events() const {
  return server_.is_open() ? server_.events(reads_server(), up_sent_ < up_out_.size()) : short{0};
}

void ProxyConnection::step(short client_happened, short server_happened, MonoTime now) {
  if ((client_happened & (POLLIN | POLLHUP | POLLERR | POLLRDHUP)) != 0) read_client();
  // With so much of it unread, its end is not seen by reading.
  if ((client_happened & (POLLHUP | POLLERR | POLLRDHUP)) != 0 && in_.size() >= most_waiting_bytes) finished_ = true;
  if (finished_) return tell_end(now, "the client hung up");
  if (stage_ == Stage::head) read_head(now);
  if (server_.connecting() && server_happened != 0) {
    if (const auto advanced = server_.advance(server_happened); !advanced) return server_gone(advanced.error(), now);
    if (!server_.connecting()) deadline_ = now + answer_time;
  }
  if (stage_ == Stage::relay) forward_body();
  if (server_.is_open() && !server_.connecting()) {
    write_server();
    if (server_happened != 0 || ready()) read_server();
    if (stage_ == Stage::relay) read_answer(now);
    if (stage_ == Stage::head && server_done_) close_server();
  }
  write_client();
  if (stage_ == Stage::farewell && out_.empty()) finished_ = true;
  if (finished_) tell_end(now, "the client hung up");
}

void ProxyConnection::expire(MonoTime now) {
  if (stage_ == Stage::relay && !answer_) return server_gone("no answer in time", now);
  if (stage_ == Stage::head && !in_.empty()) return refuse(408, "the request took too long", now);
  tell_end(now, "the time was over");
  finished_ = true;
}

void ProxyConnection::read_client() {
  std::array<char, 65536> bytes;
  while (in_.size() < most_waiting_bytes && !client_done_) {
    const ssize_t got = ::recv(client_, bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (got > 0) {
      if (stage_ != Stage::farewell) in_.append(bytes.data(), static_cast<std::size_t>(got));
      continue;
    }
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    client_done_ = true;  // whoever hangs up wants no answer: what is behind ends too
    finished_ = true;
  }
}

void ProxyConnection::read_server() {
  std::array<char, 65536> bytes;
  while (up_in_.size() < most_waiting_bytes && !server_done_) {
    const auto [got, closed] = server_.read(bytes);
    up_in_.append(bytes.data(), got);
    server_done_ = closed;
    if (got == 0) return;
  }
}

void ProxyConnection::write_server() {
  while (up_sent_ < up_out_.size()) {
    const auto [sent, closed] = server_.write(std::string_view(up_out_).substr(up_sent_));
    up_sent_ += sent;
    if (closed) server_done_ = true;
    if (sent == 0) break;
  }
  drop_sent(up_out_, up_sent_);
}

void ProxyConnection::write_client() {
  while (out_sent_ < out_.size()) {
    const ssize_t done = ::send(client_, out_.data() + out_sent_, out_.size() - out_sent_, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (done <= 0) {
      if (done == 0 || (errno != EAGAIN && errno != EINTR)) finished_ = true;
      break;
    }
    out_sent_ += static_cast<std::size_t>(done);
  }
  drop_sent(out_, out_sent_);
}

void ProxyConnection::read_head(MonoTime now) {
  if (in_.empty()) return;
  auto head = read_request_head(in_);
  if (!head) return refuse(head.error().status, head.error().why, now);
  if (!*head) return;
  request_ = *std::move(*head);
  in_.erase(0, request_.bytes);
  request_body_.emplace(request_.framing, request_.length);
  answer_.reset();
  answer_body_.reset();
  tokens_.reset();
  asked_.clear();
  held_.clear();
  holding_ = chunked_out_ = trailer_ = answer_done_ = false;
  told_ = false;
  start_ = now;
  clocks_ = ClockMap::now();
  may_work_ = request_.method == "POST";
  meter_ = events_.meter();
  if (may_work_) events_.began(now);
  if (!request_.header("expect").empty()) out_ += "HTTP/1.1 100 Continue\r\n\r\n";
  stage_ = Stage::relay;
  reused_ = server_.is_open() && !server_done_;
  if (!reused_) connect_server(now);
  if (stage_ != Stage::relay) return;
  up_out_ += fmt::format("{} {}{} HTTP/1.1\r\nHost: {}\r\n{}", request_.method, upstream_.path, request_.target, upstream_.host,
                         forwarded_headers(request_));
  if (request_.framing == BodyFraming::length) up_out_ += fmt::format("Content-Length: {}\r\n", request_.length);
  if (request_.framing == BodyFraming::chunked) up_out_ += "Transfer-Encoding: chunked\r\n";
  if (request_.framing == BodyFraming::none && may_work_) up_out_ += "Content-Length: 0\r\n";
  up_out_ += "Via: 1.1 joulery\r\n\r\n";
  again_ = reused_ ? up_out_ : std::string();
  deadline_ = now + (server_.connecting() ? connect_time : answer_time);
}

void ProxyConnection::connect_server(MonoTime now) {
  close_server();
  if (const auto opened = server_.open(upstream_); !opened) server_gone(opened.error(), now);
}

void ProxyConnection::forward_body() {
  if (!request_body_ || request_body_->finished() || up_out_.size() - up_sent_ >= most_waiting_bytes) return;
  std::string body;
  const bool good = request_body_->take(in_, body, most_waiting_bytes);
  if (asked_.size() + body.size() <= most_asked_bytes) asked_ += body;
  const std::string sent =
      request_.framing == BodyFraming::chunked ? as_chunk(body) + (request_body_->finished() ? "0\r\n\r\n" : "") : body;
  up_out_ += sent;
  if (!again_.empty()) again_ = again_.size() + sent.size() <= most_held_bytes ? again_ + sent : std::string();
  if (!good) refuse(400, "the body's chunks are malformed", mono_now());
}

void ProxyConnection::read_answer(MonoTime now) {
  while (!answer_) {
    auto head = read_answer_head(up_in_, request_.method);
    if (!head) return server_gone(head.error().why, now);
    if (!*head) {
      if (!server_done_) return;
      // A kept connection that the server closed meanwhile: once more, on a new one.
      if (reused_ && up_in_.empty() && !again_.empty()) {
        const std::string again = again_;
        again_.clear();
        reused_ = false;
        connect_server(now);
        if (server_.is_open()) up_out_ = again;
        return;
      }
      return server_gone("it hung up without an answer", now);
    }
    up_in_.erase(0, (*head)->bytes);
    if ((*head)->status >= 200) begin_answer(*std::move(*head), now);
  }
  again_.clear();
  while (!answer_done_ && out_.size() - out_sent_ < most_waiting_bytes) {
    std::string body;
    if (!answer_body_->take(up_in_, body, most_waiting_bytes)) return server_gone("its chunks are malformed", now);
    if (server_done_ && up_in_.empty()) answer_body_->closed();
    if (!body.empty()) pass_on(body, now);
    if (answer_body_->finished()) return end_answer(now);
    if (server_done_ && up_in_.empty()) return server_gone("it broke off its answer", now);
    if (body.empty()) return;
  }
}

void ProxyConnection::begin_answer(RelayHead head, MonoTime now) {
  const AnswerForm form = answer_form(head.header("content-type"));
  answer_body_.emplace(head.framing, head.length);
  tokens_.emplace(head.header("content-encoding").empty() ? form : AnswerForm::other);
  holding_ = may_work_ && form == AnswerForm::json && request_.method != "HEAD" && head.framing != BodyFraming::none &&
             !(head.framing == BodyFraming::length && head.length > most_held_bytes);
  answer_ = std::move(head);
  deadline_ = now + answer_time;
  if (holding_) return;
  std::string text = fmt::format("HTTP/1.1 {} {}\r\n{}", answer_->status, answer_->reason, forwarded_headers(*answer_));
  const bool bare = answer_->framing == BodyFraming::none;
  if (answer_->framing == BodyFraming::length || (bare && !answer_->header("content-length").empty()))
    text += fmt::format("Content-Length: {}\r\n", answer_->length);
  else if (bare && request_.method != "HEAD" && answer_->status != 204 && answer_->status != 304)
    text += "Content-Length: 0\r\n";
  else if (!bare)
    chunked_out_ = request_.version_1_1;
  if (chunked_out_) text += "Transfer-Encoding: chunked\r\n";
  trailer_ = chunked_out_ && may_work_ && takes_trailers(request_);
  if (trailer_) text += "Trailer: Joulery-Joules\r\n";
  const bool keep = request_.keep_alive && (answer_->framing != BodyFraming::until_close || chunked_out_) &&
                    (chunked_out_ || answer_->framing != BodyFraming::chunked);
  request_.keep_alive = keep;
  text += keep ? "Connection: keep-alive\r\n\r\n" : "Connection: close\r\n\r\n";
  out_ += text;
}

void ProxyConnection::pass_on(std::string_view body, MonoTime now) {
  tokens_->take(body, now);
  deadline_ = now + answer_time;
  if (!holding_) {
    if (chunked_out_)
      out_ += as_chunk(body);
    else
      out_ += body;
    return;
  }
  held_ += body;
  if (held_.size() <= most_held_bytes) return;
  // Too long to hold after all: it goes on as it came.
  holding_ = false;
  chunked_out_ = request_.version_1_1;
  if (!chunked_out_) request_.keep_alive = false;
  out_ += fmt::format("HTTP/1.1 {} {}\r\n{}{}Connection: {}\r\n\r\n", answer_->status, answer_->reason, forwarded_headers(*answer_),
                      chunked_out_ ? "Transfer-Encoding: chunked\r\n" : "", request_.keep_alive ? "keep-alive" : "close");
  out_ += chunked_out_ ? as_chunk(held_) : held_;
  held_.clear();
}

void ProxyConnection::end_answer(MonoTime now) {
  answer_done_ = true;
  tokens_->ended(now);
  const bool work = may_work_ && answer_->status >= 200 && answer_->status < 300;
  const std::string joules = work && (holding_ || trailer_) ? events_.joules_since(meter_) : std::string();
  if (holding_) {
    out_ += fmt::format("HTTP/1.1 {} {}\r\n{}", answer_->status, answer_->reason, forwarded_headers(*answer_));
    if (!joules.empty()) out_ += "Joulery-Joules: " + joules + "\r\n";
    out_ +=
        fmt::format("Content-Length: {}\r\nConnection: {}\r\n\r\n{}", held_.size(), request_.keep_alive ? "keep-alive" : "close", held_);
    held_.clear();
  } else if (chunked_out_) {
    out_ += "0\r\n";
    if (trailer_ && !joules.empty()) out_ += "Joulery-Joules: " + joules + "\r\n";
    out_ += "\r\n";
  }
  tell_end(now, "");
  if (!answer_->keep_alive || server_done_ || !request_body_->finished()) close_server();
  next_request(now);
}

void ProxyConnection::next_request(MonoTime now) {
  const bool keep = request_.keep_alive && request_body_->finished();
  stage_ = keep ? Stage::head : Stage::farewell;
  deadline_ = now + (!keep ? farewell_time : in_.empty() ? idle_time : head_time);
  if (keep && !in_.empty()) read_head(now);  // what was sent ahead
}

// The one place where a request is told of, once.
void ProxyConnection::tell_end(MonoTime now, const std::string& trouble, bool refused) {
  if (told_) return;
  told_ = true;
  ProxiedRequest ended;
  ended.start = start_;
  ended.end = now;
  ended.trouble = trouble;
  ended.status = answer_ ? answer_->status : 0;
  ended.work = may_work_ && !refused && (ended.status == 0 || (ended.status >= 200 && ended.status < 300));
  ServedRequest& r = ended.request;
  r.start = wall(start_);
  r.end = wall(now);
  r.group = request_.target.substr(0, request_.target.find('?')).substr(0, 200);
  const AskedFor asked = read_request_body(asked_);
  r.model = asked.model;
  if (tokens_) {
    r.id = tokens_->id();
    if (!tokens_->model().empty()) r.model = tokens_->model();
    if (const auto first = tokens_->first_token()) r.first_token = wall(*first);
    r.tokens_in = tokens_->tokens_in();
    r.tokens_out = tokens_->tokens_out();
    ended.tokens_source = tokens_->source();
  }
  asked_.clear();
  events_.ended(std::move(ended), may_work_);
}

void ProxyConnection::server_gone(const std::string& why, MonoTime now) {
  if (answer_ && !holding_) {  // its beginning has gone out: breaking off is all that is left to tell
    tell_end(now, why);
    finished_ = true;
    return;
  }
  refuse(502, fmt::format("the server behind the proxy at {} does not answer: {}", upstream_.host, why), now);
}

void ProxyConnection::refuse(int status, const std::string& why, MonoTime now) {
  answer_.reset();
  tell_end(now, why, true);
  close_server();
  JsonWriter json(0);
  json.begin_object().key("error").begin_object();
  json.key("message").text(why);
  json.key("type").text(status >= 500 ? "server_error" : "invalid_request_error");
  json.key("code").whole(status);
  json.end_object().end_object();
  const std::string body = json.str() + "\n";
  const std::string_view phrase = status == 502   ? "Bad Gateway"
                                  : status == 408 ? "Request Timeout"
                                  : status == 501 ? "Not Implemented"
                                                  : "Bad Request";
  out_ += fmt::format("HTTP/1.1 {} {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{}", status,
                      phrase, body.size(), body);
  stage_ = Stage::farewell;
  deadline_ = now + farewell_time;
}

}  // namespace joulery
