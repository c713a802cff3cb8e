#include "sense/room/snmp_reach.h"

#include <fmt/format.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

#include "core/units.h"

namespace joulery {
namespace {

struct FreeAddresses {
  void operator()(addrinfo* list) const { ::freeaddrinfo(list); }
};
using Addresses = std::unique_ptr<addrinfo, FreeAddresses>;

// 0, or getaddrinfo's error.
int look_up(const std::string& host, const char* service, int flags, Addresses& found) {
  addrinfo wanted{}, *list = nullptr;
  wanted.ai_socktype = SOCK_DGRAM;
  wanted.ai_flags = flags;
  const int error = ::getaddrinfo(host.c_str(), service, &wanted, &list);
  if (error == 0) found.reset(list);
  return error;
}

class Socket {
 public:
  explicit Socket(int family) : descriptor_(::socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {}
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  ~Socket() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  int get() const { return descriptor_; }

 private:
  int descriptor_;
};

Trouble failed(const std::string& address) { return {MissingReason::io_error, fmt::format("{}: {}", address, std::strerror(errno))}; }

}  // namespace

Answer<std::string> resolve_host(const std::string& host) {
  Addresses found;
  if (const int error = look_up(host, nullptr, AI_ADDRCONFIG, found); error != 0 || !found)
    return std::unexpected(Trouble{MissingReason::gone, fmt::format("{}: {}", host, ::gai_strerror(error))});
  std::array<char, NI_MAXHOST> text{};
  if (::getnameinfo(found->ai_addr, found->ai_addrlen, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST) != 0)
    return std::unexpected(Trouble{MissingReason::gone, host + ": an address of no known kind"});
  return std::string(text.data());
}

std::vector<std::uint8_t> snmp_discovery_message() {
  return {0x30, 0x3E,                                                                    // SEQUENCE
          0x02, 0x01, 0x03,                                                              //   version 3
          0x30, 0x11,                                                                    //   global data:
          0x02, 0x04, 0x6A, 0x6F, 0x75, 0x6C,                                            //     message id
          0x02, 0x03, 0x00, 0xFF, 0xE3, 0x04, 0x01, 0x04, 0x02, 0x01, 0x03,  //     65507 bytes, reportable, user-based security
          0x04, 0x10, 0x30, 0x0E,  //   security parameters:
          0x04, 0x00, 0x02, 0x01, 0x00, 0x02, 0x01, 0x00, 0x04, 0x00, 0x04, 0x00, 0x04, 0x00,  //  no engine, no user, no keys
          0x30, 0x14,  //   scoped data:
          0x04, 0x00, 0x04, 0x00,  //     no engine, no context
          0xA0, 0x0E,  //     get request of nothing
          0x02, 0x04, 0x6A, 0x6F, 0x75, 0x6C, 0x02, 0x01, 0x00, 0x02, 0x01, 0x00, 0x30, 0x00};
}

Answer<void> reach_snmp_engine(const std::string& address, std::uint16_t port, Duration limit) {
  Addresses found;
  if (look_up(address, std::to_string(port).c_str(), AI_NUMERICHOST | AI_NUMERICSERV, found) != 0)
    return std::unexpected(Trouble{MissingReason::gone, address + ": no address"});
  const Socket socket(found->ai_family);
  if (socket.get() < 0 || ::connect(socket.get(), found->ai_addr, found->ai_addrlen) != 0) return std::unexpected(failed(address));
  const auto message = snmp_discovery_message();
  if (::send(socket.get(), message.data(), message.size(), MSG_NOSIGNAL) < 0) return std::unexpected(failed(address));
  pollfd ready{socket.get(), POLLIN, 0};
  const int count = ::poll(&ready, 1, static_cast<int>(limit.base_units() / 1'000'000));
  if (count < 0) return std::unexpected(failed(address));
  std::array<char, 1> byte{};
  if (count == 0) return std::unexpected(Trouble{MissingReason::timed_out, fmt::format("{}: no answer in {}", address, to_text(limit))});
  if (::recv(socket.get(), byte.data(), byte.size(), 0) < 0) return std::unexpected(failed(address));  // nobody listens there
  return {};
}

}  // namespace joulery
