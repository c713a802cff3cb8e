#include "app/serve/server_link.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <limits>

#include "app/serve/tls_api.h"
#include "app/serve/upstream.h"

namespace joulery {
namespace {

int int_size(std::size_t size) { return static_cast<int>(std::min<std::size_t>(size, std::numeric_limits<int>::max())); }

bool is_address(const std::string& name) {
  std::array<unsigned char, sizeof(in6_addr)> ignored{};
  return ::inet_pton(AF_INET, name.c_str(), ignored.data()) == 1 || ::inet_pton(AF_INET6, name.c_str(), ignored.data()) == 1;
}

}  // namespace

void ServerLink::FreeSession::operator()(ssl_st* session) const { tls_api()->free_session(session); }

std::expected<void, std::string> ServerLink::open(const Upstream& upstream) {
  close();
  descriptor_ = ::socket(upstream.address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (descriptor_ < 0) return std::unexpected(std::strerror(errno));
  const int on = 1;
  ::setsockopt(descriptor_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (upstream.tls)
    if (auto begun = begin_tls(upstream); !begun) return begun;
  stage_ = Stage::connecting;
  if (::connect(descriptor_, reinterpret_cast<const sockaddr*>(&upstream.address), upstream.address_size) == 0) return advance(POLLOUT);
  if (errno != EINPROGRESS) return std::unexpected(std::strerror(errno));
  return {};
}

// The name that the certificate must be for, told to the server too, where it is no address (RFC 6066).
std::expected<void, std::string> ServerLink::begin_tls(const Upstream& upstream) {
  const TlsApi& tls = *tls_api();
  session_.reset(tls.new_session(upstream.tls.get()));
  ssl_st* session = session_.get();
  bool good = session && tls.set_descriptor(session, descriptor_) == 1;
  if (good && is_address(upstream.name)) {
    good = tls.expect_address(tls.verify_parameters(session), upstream.name.c_str()) == 1;
  } else if (good) {
    std::string name = upstream.name;
    good =
        tls.expect_name(session, name.c_str()) == 1 && tls.control_session(session, tls_set_server_name, tls_host_name, name.data()) == 1;
  }
  if (!good) return std::unexpected("TLS cannot be set up");
  tls.set_client(session);
  return {};
}

void ServerLink::close() {
  if (session_ && !broken_ && stage_ == Stage::ready) {
    tls_api()->shut_down(session_.get());
    tls_api()->clear_errors();
  }
  session_.reset();
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = -1;
  stage_ = Stage::ready;
  read_wants_write_ = write_wants_read_ = handshake_wants_write_ = broken_ = false;
}

std::expected<void, std::string> ServerLink::advance(short happened) {
  if (happened == 0) return {};
  if (stage_ == Stage::connecting) {
    int error = 0;
    socklen_t size = sizeof error;
    ::getsockopt(descriptor_, SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0) return std::unexpected(std::strerror(error));
    stage_ = session_ ? Stage::shaking : Stage::ready;
  }
  return stage_ == Stage::shaking ? shake_hands() : std::expected<void, std::string>();
}

std::expected<void, std::string> ServerLink::shake_hands() {
  const TlsApi& tls = *tls_api();
  tls.clear_errors();
  const int result = tls.shake_hands(session_.get());
  if (result == 1) {
    stage_ = Stage::ready;
    return {};
  }
  const int why = tls.error_of(session_.get(), result);
  handshake_wants_write_ = why == tls_wants_write;
  if (why == tls_wants_read || why == tls_wants_write) return {};
  broken_ = true;
  const long verified = tls.verify_result(session_.get());
  const unsigned long error = tls.next_error();
  tls.clear_errors();
  if (verified != 0)
    return std::unexpected(fmt::format("its certificate is not vouched for: {} (--upstream-ca)", tls.verify_text(verified)));
  const char* reason = error == 0 ? nullptr : tls.reason_of(error);
  return std::unexpected(fmt::format("no TLS with it: {}", reason ? reason : "it hung up"));
}

short ServerLink::events(bool read, bool write) const {
  if (stage_ == Stage::connecting) return POLLOUT;
  if (stage_ == Stage::shaking) return handshake_wants_write_ ? POLLOUT : POLLIN;
  int events = 0;
  if (read) events |= read_wants_write_ ? POLLOUT : POLLIN;
  if (write) events |= write_wants_read_ ? POLLIN : POLLOUT;
  return static_cast<short>(events);
}

bool ServerLink::holds_bytes() const { return session_ && stage_ == Stage::ready && tls_api()->pending(session_.get()) > 0; }

ServerLink::Moved ServerLink::outcome(int result, bool reading) {
  if (result > 0) return {static_cast<std::size_t>(result), false};
  const int why = tls_api()->error_of(session_.get(), result);
  tls_api()->clear_errors();
  if (reading) read_wants_write_ = why == tls_wants_write;
  if (!reading) write_wants_read_ = why == tls_wants_read;
  if (why == tls_wants_read || why == tls_wants_write) return {};
  broken_ = broken_ || why != tls_closed;
  return {0, true};
}

ServerLink::Moved ServerLink::read(std::span<char> into) {
  if (session_) {
    tls_api()->clear_errors();
    return outcome(tls_api()->read(session_.get(), into.data(), int_size(into.size())), true);
  }
  const ssize_t got = ::recv(descriptor_, into.data(), into.size(), MSG_DONTWAIT);
  if (got > 0) return {static_cast<std::size_t>(got), false};
  return {0, !(got < 0 && (errno == EAGAIN || errno == EINTR))};
}

ServerLink::Moved ServerLink::write(std::string_view bytes) {
  if (session_) {
    tls_api()->clear_errors();
    return outcome(tls_api()->write(session_.get(), bytes.data(), int_size(bytes.size())), false);
  }
  const ssize_t sent = ::send(descriptor_, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  if (sent > 0) return {static_cast<std::size_t>(sent), false};
  return {0, !(sent < 0 && (errno == EAGAIN || errno == EINTR))};
}

}  // namespace joulery
