#include "app/agent/http_server.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <system_error>
#include <utility>

namespace joulery {
namespace {

constexpr int most_accepts_at_once = 32;

// A client that hangs up must not end the agent: TLS writes know no MSG_NOSIGNAL.
void block_signals() {
  sigset_t all;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
}

}  // namespace

HttpServer::HttpServer(HttpHandler& handler, const TlsIdentity* identity, HttpLimits limits)
    : handler_(handler), identity_(identity), limits_(limits), wake_descriptor_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {}

HttpServer::~HttpServer() {
  stop();
  for (const Listener& listener : listeners_) ::close(listener.descriptor);
  if (wake_descriptor_ >= 0) ::close(wake_descriptor_);
}

Result<void> HttpServer::listen(const ListenAddress& address) {
  auto descriptor = address.open();
  if (!descriptor) return std::unexpected(descriptor.error());
  listeners_.push_back({*descriptor, address.is_loopback()});
  addresses_.push_back(address.bound_to(*descriptor));
  return {};
}

Result<void> HttpServer::start() {
  if (wake_descriptor_ < 0) return fail(ErrorCode::io, "cannot make an eventfd");
  answers_ = std::make_unique<AnswerThread>([this] { poke(); });
  try {
    thread_ = std::thread([this] { run(); });
  } catch (const std::system_error& error) { return fail(ErrorCode::io, std::string("cannot start a thread: ") + error.what()); }
  return {};
}

void HttpServer::wake() {
  new_events_ = true;
  poke();
}

void HttpServer::poke() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t sent = ::write(wake_descriptor_, &one, sizeof one);  // full: it is awake already
}

void HttpServer::stop() {
  stopping_ = true;
  poke();
  if (thread_.joinable()) thread_.join();
  answers_.reset();
}

std::size_t HttpServer::streams() const {
  return static_cast<std::size_t>(std::ranges::count_if(connections_, [](const HttpConnection& one) { return one.streaming(); }));
}

int HttpServer::milliseconds_left() const {
  MonoTime next = next_heartbeat_;
  for (const HttpConnection& one : connections_) next = std::min(next, one.deadline());
  const MonoTime now = mono_now();
  if (deaf_until_ > now) next = std::min(next, deaf_until_);
  return static_cast<int>(std::max<std::int64_t>(0, (next - now).base_units() / 1'000'000 + 1));
}

void HttpServer::run() {
  block_signals();
  next_heartbeat_ = mono_now() + limits_.heartbeat;
  while (!stopping_) {
    const bool deaf = deaf_until_ > mono_now();
    std::vector<pollfd> polled{{wake_descriptor_, POLLIN, 0}};
    for (const Listener& listener : listeners_) polled.push_back({deaf ? -1 : listener.descriptor, POLLIN, 0});
    for (const HttpConnection& one : connections_) polled.push_back({one.descriptor(), one.events(), 0});
    if (::poll(polled.data(), polled.size(), milliseconds_left()) < 0 && errno != EINTR) break;
    if (stopping_) break;
    std::vector<short> happened;
    for (std::size_t i = 1 + listeners_.size(); i < polled.size(); ++i) happened.push_back(polled[i].revents);
    serve_ready(happened);
    std::uint64_t count = 0;
    if (polled[0].revents != 0 && ::read(wake_descriptor_, &count, sizeof count) > 0) {
      deliver_ready();
      if (new_events_.exchange(false)) tell_streams(false);
    }
    if (mono_now() >= next_heartbeat_) tell_streams(true);
    std::erase_if(connections_, [](const HttpConnection& one) { return one.finished(); });
    for (std::size_t i = 0; i < listeners_.size(); ++i)
      if (polled[1 + i].revents != 0) accept_from(listeners_[i]);
  }
  connections_.clear();
}

void HttpServer::serve_ready(const std::vector<short>& happened) {
  std::size_t i = 0;
  for (HttpConnection& one : connections_) {
    const MonoTime now = mono_now();
    if (happened[i++] != 0) one.step(handler_, streams() < limits_.streams, now);
    hand_over(one, now);
    if (!one.finished() && one.deadline() <= now) one.expire(handler_, now);
  }
}

void HttpServer::hand_over(HttpConnection& one, MonoTime now) {
  auto task = one.take_task();
  if (task && !answers_->take_on(one.number(), std::move(task)))
    one.deliver(handler_.refusal(503, "too many long questions at a time"), now);
}

void HttpServer::deliver_ready() {
  for (auto& [number, answer] : answers_->ready()) {
    const auto one = std::ranges::find(connections_, number, &HttpConnection::number);
    if (one != connections_.end()) one->deliver(answer, mono_now());  // else it hung up meanwhile
  }
}

void HttpServer::tell_streams(bool heartbeat) {
  const MonoTime now = mono_now();
  if (heartbeat) next_heartbeat_ = now + limits_.heartbeat;
  for (HttpConnection& one : connections_) {
    if (!one.streaming()) continue;
    one.send_event(heartbeat ? ":\n\n" : handler_.event(one.request()), now);
    one.step(handler_, false, now);
  }
}

// Where too many are there, one that has asked nothing yet goes: the one that was to go first.
void HttpServer::make_room() {
  auto first = connections_.end();
  for (auto one = connections_.begin(); one != connections_.end(); ++one)
    if (one->waiting() && (first == connections_.end() || one->deadline() < first->deadline())) first = one;
  if (first != connections_.end()) connections_.erase(first);
}

void HttpServer::accept_from(const Listener& listener) {
  for (int i = 0; i < most_accepts_at_once; ++i) {
    const int descriptor = ::accept4(listener.descriptor, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (descriptor < 0) {
      // No descriptors left: to poll again at once would only spin.
      if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) deaf_until_ = mono_now() + milliseconds(200);
      return;
    }
    const int on = 1;
    ::setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (connections_.size() >= limits_.connections) make_room();
    Socket socket(descriptor, identity_);
    if (connections_.size() < limits_.connections)
      connections_.emplace_back(++accepted_, std::move(socket), listener.loopback, limits_, mono_now());
  }
}

}  // namespace joulery
