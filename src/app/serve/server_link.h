// A connection to the server behind the proxy, plain or TLS, that never waits: what cannot be done now says for what to poll.
//
// Invariant: through a TLS link nothing is read or written before the server has shown a certificate that is vouched for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <span>
#include <string>
#include <string_view>

struct ssl_st;

namespace joulery {

struct Upstream;

class ServerLink {
 public:
  ServerLink() = default;
  ~ServerLink() { close(); }
  ServerLink(const ServerLink&) = delete;
  ServerLink& operator=(const ServerLink&) = delete;

  // Begins to connect. Errors (as text): why there is no connection.
  std::expected<void, std::string> open(const Upstream& upstream);
  void close();
  bool is_open() const { return descriptor_ >= 0; }
  int descriptor() const { return descriptor_; }     // -1 where it is not open
  bool connecting() const { return stage_ != Stage::ready; }
  // Goes on connecting, by what poll saw. Errors as above.
  std::expected<void, std::string> advance(short happened);

  // What to poll for, where the caller would read or write.
  short events(bool read, bool write) const;
  // Bytes that have come but that poll does not show: TLS has them already.
  bool holds_bytes() const;

  struct Moved {
    std::size_t bytes = 0;
    bool closed = false;      // nothing more can be moved this way
  };
  // As much as can be moved now; 0 bytes and not closed: later.
  Moved read(std::span<char> into);
  Moved write(std::string_view bytes);

 private:
  enum class Stage : std::uint8_t { ready, connecting, shaking };
  struct FreeSession {
    void operator()(ssl_st* session) const;
  };
  std::expected<void, std::string> begin_tls(const Upstream& upstream);
  std::expected<void, std::string> shake_hands();
  Moved outcome(int result, bool reading);

  int descriptor_ = -1;
  Stage stage_ = Stage::ready;
  bool read_wants_write_ = false, write_wants_read_ = false, handshake_wants_write_ = false, broken_ = false;
  std::unique_ptr<ssl_st, FreeSession> session_;
};

}  // namespace joulery
