// Requests and answers of the agent's HTTP server: RFC 9112 as far as a server needs it that is only asked (GET, HEAD).
//
// What could be read in two ways is refused rather than guessed at: folded headers, two hosts, a body, white space before a
// colon. Invariant: no header value or parameter of a parsed request holds a control character other than a tab.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace joulery {

struct HttpRequest {
  std::string method;                                          // "GET", "HEAD"; others where the answer will be 405
  std::string path;                                            // as it came: "/api/v1/node"
  std::vector<std::pair<std::string, std::string>> parameters; // of the query, decoded, in their order
  std::vector<std::pair<std::string, std::string>> headers;    // names in lower case, values without surrounding blanks
  bool keep_alive = false;

  const std::string* header(std::string_view name) const;      // the first of this name, null where there is none
  const std::string* parameter(std::string_view name) const;
};

struct HttpAnswer {
  int status = 200;
  std::string content_type = "application/json";
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;  // beyond those that every answer has
  bool stream = false;                                       // body is only the beginning: events follow until someone hangs up
  std::function<HttpAnswer()> later;                         // set: takes long, and is made beside the server's thread, all else is void
};

// Longer ones are refused: request line and headers together, the target alone.
inline constexpr std::size_t most_head_bytes = 16'384, most_target_bytes = 4'096, most_headers = 64, most_parameters = 32;

// What a connection's bytes begin with. `status` 0: a whole request of `bytes` bytes; else the status to answer with (400,
// 413, 414, 431, 501, 505), and why. Nothing: more bytes are needed.
struct ParsedRequest {
  HttpRequest request;
  std::size_t bytes = 0;
  int status = 0;
  std::string why;
};
std::optional<ParsedRequest> parse_request(std::string_view bytes);

// "a=1&b=%20x+y": nothing where an escape is broken, a text has control characters, or there are too many.
std::optional<std::vector<std::pair<std::string, std::string>>> parse_query(std::string_view query);

// Status line and headers, up to and with the empty line.
std::string answer_head(const HttpAnswer& answer, bool keep_alive, std::int64_t unix_seconds);

std::string_view reason_phrase(int status);

}  // namespace joulery
