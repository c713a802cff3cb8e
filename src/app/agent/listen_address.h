// Where the agent listens: "127.0.0.1:9787", "[::1]:9787", "0.0.0.0:0", "localhost:9787". Names other than localhost are not
// looked up: what a server binds to must not depend on who answers for a name.
#pragma once

#include <netinet/in.h>

#include <string>
#include <string_view>

#include "core/result.h"

namespace joulery {

inline constexpr std::uint16_t agent_port = 9787;

class ListenAddress {
 public:
  // Without ":PORT" the port is 9787. Errors: usage.
  static Result<ListenAddress> parse(std::string_view text);
  bool is_loopback() const;  // nobody on another machine can reach it
  std::string text() const;
  // A listening socket, non-blocking. Errors: busy, permission, io.
  Result<int> open() const;
  // The same address with the port that the socket got.
  std::string bound_to(int descriptor) const;

 private:
  sockaddr_storage address_{};
  socklen_t size_ = 0;
};

}  // namespace joulery
