#include "app/agent/listen_address.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>

namespace joulery {
namespace {

std::string text_of(const sockaddr_storage& address) {
  std::array<char, INET6_ADDRSTRLEN> host{};
  if (address.ss_family == AF_INET6) {
    sockaddr_in6 six;
    std::memcpy(&six, &address, sizeof six);
    ::inet_ntop(AF_INET6, &six.sin6_addr, host.data(), host.size());
    return fmt::format("[{}]:{}", host.data(), ntohs(six.sin6_port));
  }
  sockaddr_in four;
  std::memcpy(&four, &address, sizeof four);
  ::inet_ntop(AF_INET, &four.sin_addr, host.data(), host.size());
  return fmt::format("{}:{}", host.data(), ntohs(four.sin_port));
}

std::unexpected<Error> wrong(std::string_view text) {
  return fail(ErrorCode::usage, "cannot listen there", std::string(text), "give ADDRESS:PORT, as in 127.0.0.1:9787 or [::1]:9787");
}

}  // namespace

Result<ListenAddress> ListenAddress::parse(std::string_view text) {
  std::string_view host = text, port;
  if (text.starts_with('[')) {
    const auto end = text.find(']');
    if (end == std::string_view::npos || (end + 1 < text.size() && text[end + 1] != ':')) return wrong(text);
    host = text.substr(1, end - 1);
    if (end + 1 < text.size()) port = text.substr(end + 2);
  } else if (const auto colon = text.find(':'); colon != std::string_view::npos) {
    host = text.substr(0, colon);
    port = text.substr(colon + 1);
    if (port.empty()) return wrong(text);
  }
  std::uint16_t number = agent_port;
  if (!port.empty()) {
    const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), number);
    if (error != std::errc() || end != port.data() + port.size()) return wrong(text);
  }
  const std::string name = host == "localhost" ? "127.0.0.1" : std::string(host);
  ListenAddress parsed;
  sockaddr_in four{};
  sockaddr_in6 six{};
  if (::inet_pton(AF_INET, name.c_str(), &four.sin_addr) == 1) {
    four.sin_family = AF_INET;
    four.sin_port = htons(number);
    std::memcpy(&parsed.address_, &four, parsed.size_ = sizeof four);
  } else if (::inet_pton(AF_INET6, name.c_str(), &six.sin6_addr) == 1) {
    six.sin6_family = AF_INET6;
    six.sin6_port = htons(number);
    std::memcpy(&parsed.address_, &six, parsed.size_ = sizeof six);
  } else {
    return wrong(text);
  }
  return parsed;
}

bool ListenAddress::is_loopback() const {
  if (address_.ss_family == AF_INET6) {
    sockaddr_in6 six;
    std::memcpy(&six, &address_, sizeof six);
    return IN6_IS_ADDR_LOOPBACK(&six.sin6_addr);
  }
  sockaddr_in four;
  std::memcpy(&four, &address_, sizeof four);
  return (ntohl(four.sin_addr.s_addr) >> 24) == 127;
}

std::string ListenAddress::text() const { return text_of(address_); }

Result<int> ListenAddress::open() const {
  const int descriptor = ::socket(address_.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (descriptor < 0) return std::unexpected(error_from_errno(errno, "cannot listen", text()));
  const int on = 1;
  ::setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (address_.ss_family == AF_INET6) ::setsockopt(descriptor, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
  sockaddr_storage address = address_;
  if (::bind(descriptor, reinterpret_cast<sockaddr*>(&address), size_) == 0 && ::listen(descriptor, 128) == 0) return descriptor;
  const int number = errno;
  ::close(descriptor);
  if (number == EADDRINUSE)
    return fail(ErrorCode::busy, "another program listens there", text(),
                "is an agent running already? another address: --listen ADDRESS:PORT");
  return std::unexpected(error_from_errno(number, "cannot listen", text()));
}

std::string ListenAddress::bound_to(int descriptor) const {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (::getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &size) != 0) return text();
  return text_of(address);
}

}  // namespace joulery
