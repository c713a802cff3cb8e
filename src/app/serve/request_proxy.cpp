#include "app/serve/request_proxy.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace joulery {
namespace {

constexpr int most_accepts_at_once = 64;

}  // namespace

RequestProxy::RequestProxy(int listener, std::string address, const Upstream& upstream)
    : listener_(listener),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      address_(std::move(address)),
      upstream_(upstream),
      metered_(mono_now()) {}

Result<std::unique_ptr<RequestProxy>> RequestProxy::start(const ListenAddress& address, const Upstream& upstream) {
  const auto listener = address.open();
  if (!listener) return std::unexpected(listener.error());
  std::unique_ptr<RequestProxy> proxy(new RequestProxy(*listener, address.bound_to(*listener), upstream));
  if (proxy->wake_ < 0) return std::unexpected(error_from_errno(errno, "cannot make the proxy", proxy->address_));
  // Signals are the main thread's business.
  sigset_t every, before;
  sigfillset(&every);
  pthread_sigmask(SIG_SETMASK, &every, &before);
  proxy->thread_ = std::thread([&self = *proxy] { self.run(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return proxy;
}

RequestProxy::~RequestProxy() {
  stop();
  ::close(listener_);
  if (wake_ >= 0) ::close(wake_);
}

void RequestProxy::stop() {
  stopping_ = true;
  const std::uint64_t one = 1;
  (void)!::write(wake_, &one, sizeof one);
  if (thread_.joinable()) thread_.join();
}

std::vector<ProxiedRequest> RequestProxy::take_ended() {
  const std::lock_guard lock(mutex_);
  return std::exchange(ended_, {});
}

// What one of n requests gets while n are in work is a n-th of the power.
void RequestProxy::advance_meter(MonoTime now) {
  const double power = active_watts_;
  const int in_work = in_work_;
  if (power >= 0 && in_work > 0) joules_each_ += power * to_seconds(now - metered_) / in_work;
  meter_known_ = power >= 0;
  metered_ = now;
}

void RequestProxy::began(MonoTime at) {
  advance_meter(at);
  ++in_work_;
}

double RequestProxy::meter() {
  advance_meter(mono_now());
  return joules_each_;
}

std::string RequestProxy::joules_since(double begun) {
  advance_meter(mono_now());
  return meter_known_ ? fmt::format("{:.6f}; quality=estimated", joules_each_ - begun) : std::string();
}

void RequestProxy::ended(ProxiedRequest request, bool was_work) {
  if (was_work) {
    advance_meter(mono_now());
    --in_work_;
  }
  const std::lock_guard lock(mutex_);
  ended_.push_back(std::move(request));
}

void RequestProxy::run() {
  std::vector<pollfd> polled;
  while (!stopping_) {
    const MonoTime now = mono_now();
    polled.clear();
    polled.push_back({wake_, POLLIN, 0});
    polled.push_back({now < deaf_until_ || connections_.size() >= most_connections ? -1 : listener_, POLLIN, 0});
    MonoTime next = now + milliseconds(1000);
    for (const ProxyConnection& one : connections_) {
      polled.push_back({one.client(), one.client_events(), 0});
      const short wanted = one.server_events();
      polled.push_back({wanted == 0 ? -1 : one.server(), wanted, 0});  // one that has hung up would wake us on and on
      next = one.ready() ? now : std::min(next, one.deadline());
    }
    const int wait = static_cast<int>(std::clamp<std::int64_t>((next - now).base_units() / 1'000'000 + 1, 0, 1000));
    if (::poll(polled.data(), polled.size(), wait) < 0 && errno != EINTR) break;
    const MonoTime then = mono_now();
    std::size_t at = 2;
    for (auto one = connections_.begin(); one != connections_.end(); at += 2) {
      const short client = polled[at].revents, server = polled[at + 1].revents;
      if (client != 0 || server != 0 || one->ready())
        one->step(client, server, then);
      else if (then >= one->deadline())
        one->expire(then);
      one = one->finished() ? connections_.erase(one) : std::next(one);
    }
    if ((polled[1].revents & POLLIN) != 0) accept_clients(then);
  }
  connections_.clear();  // here, where SIGPIPE is blocked: TLS says goodbye
}

void RequestProxy::accept_clients(MonoTime now) {
  for (int i = 0; i < most_accepts_at_once && connections_.size() < most_connections; ++i) {
    const int client = ::accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (client < 0) {
      if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) deaf_until_ = now + milliseconds(200);
      return;
    }
    const int on = 1;
    ::setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    connections_.emplace_back(client, upstream_, *this, now);
  }
}

}  // namespace joulery
