// One connection to a client, with TLS or without, that never waits: what cannot be done now says for what to wait.
//
// Invariant: the descriptor is non-blocking, closed on exec and owned by one Socket.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "core/result.h"

struct ssl_st;
struct ssl_ctx_st;

namespace joulery {

// A certificate chain and its private key, ready for connections (TLS 1.2 or later).
class TlsIdentity {
 public:
  // Errors: not_found, permission (also where others than owner and group may read the key), format.
  static Result<TlsIdentity> load(const std::string& certificate_file, const std::string& key_file);
  ssl_ctx_st* context() const { return context_.get(); }

 private:
  struct Free {
    void operator()(ssl_ctx_st* context) const;
  };
  std::unique_ptr<ssl_ctx_st, Free> context_;
};

enum class Io : std::uint8_t { done, wants_read, wants_write, closed };

struct IoResult {
  Io state = Io::closed;
  std::size_t bytes = 0;  // of done: how many
};

class Socket {
 public:
  Socket(int descriptor, const TlsIdentity* identity);  // takes the descriptor over
  Socket(Socket&& other) noexcept;
  Socket& operator=(Socket&&) = delete;
  ~Socket();
  int descriptor() const { return descriptor_; }
  IoResult shake_hands();  // done at once without TLS
  IoResult read(std::span<char> into);
  IoResult write(std::string_view bytes);

 private:
  struct Free {
    void operator()(ssl_st* session) const;
  };
  IoResult outcome(int result) const;
  int descriptor_;
  std::unique_ptr<ssl_st, Free> session_;
};

}  // namespace joulery
