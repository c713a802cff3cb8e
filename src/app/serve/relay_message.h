// HTTP/1.1 messages as a relay needs them (RFC 9110, RFC 9112): the head of a request or an answer, how long its body is, and
// the body's bytes without their chunks. Pure.
//
// What could be read in two ways is refused, for the server behind might read it the other way (request smuggling): two
// different lengths, a length beside chunks, folded headers, white space before a colon, control characters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace joulery {

inline constexpr std::size_t most_relay_head_bytes = 64 << 10, most_relay_headers = 128, most_chunk_line_bytes = 4 << 10;

enum class BodyFraming : std::uint8_t { none, length, chunked, until_close };

struct RelayHead {
  std::string method, target;    // of a request
  int status = 0;                // of an answer
  std::string reason;
  bool version_1_1 = true;
  std::vector<std::pair<std::string, std::string>> headers;  // names as they came
  BodyFraming framing = BodyFraming::none;
  std::uint64_t length = 0;      // of BodyFraming::length
  bool keep_alive = false;
  std::size_t bytes = 0;         // that the head took

  // The first of that name, whatever its case; "" where there is none.
  std::string_view header(std::string_view name) const;
};

// Why a message is refused: the status to answer with, and why.
struct RelayRefusal {
  int status = 400;
  std::string why;
};

// Nothing where more bytes are needed.
std::expected<std::optional<RelayHead>, RelayRefusal> read_request_head(std::string_view bytes);
// `method`: of the request that it answers.
std::expected<std::optional<RelayHead>, RelayRefusal> read_answer_head(std::string_view bytes, std::string_view method);

// The headers that go on: all but those of one connection (Connection and what it names, Keep-Alive, Proxy-*, TE, Trailer,
// Transfer-Encoding, Upgrade), Content-Length, Expect and, of a request, Host.
std::string forwarded_headers(const RelayHead& head);
// True where the client's TE says that it takes trailers.
bool takes_trailers(const RelayHead& request);

// A body as it comes in: bytes go in, those of the body itself come out.
class BodyReader {
 public:
  BodyReader(BodyFraming framing, std::uint64_t length) : framing_(framing), left_(length) {}
  // Takes what it can from the front of `in` (erased) and appends the body's own to `out`, which it lets grow to `most` bytes
  // more. False where what comes is no chunked body.
  bool take(std::string& in, std::string& out, std::size_t most);
  bool finished() const;
  void closed();                 // nothing more comes: the end of a body until_close

 private:
  enum class Part : std::uint8_t { size_line, data, data_end, trailers, end };
  bool take_chunks(std::string_view& in, std::string& out, std::size_t most);
  BodyFraming framing_;
  std::uint64_t left_;           // of the body, or of the chunk
  Part part_ = Part::size_line;
  std::size_t trailer_bytes_ = 0;
  bool closed_ = false;
};

// `bytes` as one chunk; "" for none.
std::string as_chunk(std::string_view bytes);

}  // namespace joulery
