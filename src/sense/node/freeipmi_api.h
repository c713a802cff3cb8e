// The functions of GNU FreeIPMI's library that carry messages over a network, loaded at run time behind a table. The
// declarations are our own: handles and numbers of plain C, as ipmi-api.h of version 1.6 (libfreeipmi.so.17) documents them.
//
// Invariant: a table that load() gave has every function.
#pragma once

#include <cstdint>
#include <expected>
#include <string>

namespace joulery {

struct FreeipmiApi {
  using Context = void*;
  Context (*create)();
  void (*destroy)(Context);
  int (*close)(Context);
  int (*error_number)(Context);
  // Host ("name", "name:port", "[v6]:port"), user, password, key and its length, privilege, cipher suite, session and retransmission
  // time-out in milliseconds, workarounds, flags. Negative: see error_number.
  int (*open_lan)(Context, const char*, const char*, const char*, const unsigned char*, unsigned, std::uint8_t, std::uint8_t, unsigned,
                  unsigned, unsigned, unsigned);
  // Unit, net function, request and its length (command first), room for the reply and its size (command, completion code, data).
  // The length of the reply; negative: see error_number.
  int (*raw)(Context, std::uint8_t, std::uint8_t, const void*, unsigned, void*, unsigned);
};

// What error_number gives (enum ipmi_errnum), as far as it matters.
enum class FreeipmiError : int {
  permission = 3,
  username = 4,
  password = 5,
  privilege_insufficient = 7,
  privilege_not_obtained = 8,
  authentication_type = 9,
  cipher_suite = 10,
  password_timeout = 11,
  no_version_2 = 12,
  connection_timeout = 13,
  session_timeout = 14,
  message_timeout = 21,
  bmc_busy = 27,
  hostname = 29,
};

// Loads libfreeipmi.so.17, once for the process: it stays loaded, for it keeps state of its own. Errors: why it cannot be.
std::expected<FreeipmiApi, std::string> load_freeipmi();

}  // namespace joulery
