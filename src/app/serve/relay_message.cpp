#include "app/serve/relay_message.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace joulery {
namespace {

bool is_token_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}
bool is_token(std::string_view text) { return !text.empty() && std::ranges::all_of(text, is_token_char); }
bool is_field_char(char c) { return c == '\t' || (static_cast<unsigned char>(c) >= 0x20 && c != 0x7f); }
bool is_target_char(char c) { return static_cast<unsigned char>(c) > 0x20 && static_cast<unsigned char>(c) < 0x7f; }

std::string lower(std::string_view text) {
  std::string low(text);
  std::ranges::transform(low, low.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return low;
}
bool same_word(std::string_view a, std::string_view b) { return a.size() == b.size() && lower(a) == lower(b); }

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  return first == std::string_view::npos ? std::string_view() : text.substr(first, text.find_last_not_of(" \t") + 1 - first);
}

// take(word) for each part of a list with commas.
template <class Take>
void each_word(std::string_view list, const Take& take) {
  while (true) {
    const auto comma = list.find(',');
    if (const auto word = trimmed(list.substr(0, comma)); !word.empty()) take(word);
    if (comma == std::string_view::npos) return;
    list.remove_prefix(comma + 1);
  }
}

std::unexpected<RelayRefusal> refuse(int status, std::string why) { return std::unexpected(RelayRefusal{status, std::move(why)}); }

// All header lines; nothing where the head has not ended yet.
std::expected<std::optional<std::string_view>, RelayRefusal> take_head(std::string_view bytes, RelayHead& head) {
  const auto end = bytes.find("\r\n\r\n");
  if (end == std::string_view::npos) {
    if (bytes.size() >= most_relay_head_bytes) return refuse(431, "the headers are too long");
    return std::optional<std::string_view>();
  }
  if (end > most_relay_head_bytes) return refuse(431, "the headers are too long");
  head.bytes = end + 4;
  std::string_view lines = bytes.substr(0, end);
  const std::string_view first = lines.substr(0, lines.find("\r\n"));
  lines.remove_prefix(std::min(first.size() + 2, lines.size()));
  while (!lines.empty()) {
    const std::string_view line = lines.substr(0, lines.find("\r\n"));
    lines.remove_prefix(std::min(line.size() + 2, lines.size()));
    const auto colon = line.find(':');
    if (colon == std::string_view::npos || !is_token(line.substr(0, colon)) || !std::ranges::all_of(line, is_field_char))
      return refuse(400, "a header is malformed");
    if (head.headers.size() == most_relay_headers) return refuse(431, "there are too many headers");
    head.headers.emplace_back(line.substr(0, colon), trimmed(line.substr(colon + 1)));
  }
  return std::optional(first);
}

// Content-Length and Transfer-Encoding. `chunked`: out.
std::expected<std::optional<std::uint64_t>, RelayRefusal> read_length(const RelayHead& head, bool& chunked) {
  std::optional<std::uint64_t> length;
  chunked = false;
  for (const auto& [name, value] : head.headers) {
    if (same_word(name, "content-length")) {
      std::uint64_t number = 0;
      const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
      if (value.empty() || error != std::errc() || end != value.data() + value.size() || (length && *length != number))
        return refuse(400, "the length of the body is not clear");
      length = number;
    }
    if (same_word(name, "transfer-encoding")) {
      if (chunked || !same_word(value, "chunked")) return refuse(501, "no transfer coding but chunked is known");
      chunked = true;
    }
  }
  if (chunked && length) return refuse(400, "the length of the body is not clear");
  return length;
}

bool connection_says(const RelayHead& head, std::string_view word) {
  bool says = false;
  for (const auto& [name, value] : head.headers)
    if (same_word(name, "connection")) each_word(value, [&](std::string_view one) { says = says || same_word(one, word); });
  return says;
}

}  // namespace

std::string_view RelayHead::header(std::string_view name) const {
  for (const auto& [known, value] : headers)
    if (same_word(known, name)) return value;
  return {};
}

std::expected<std::optional<RelayHead>, RelayRefusal> read_request_head(std::string_view bytes) {
  RelayHead head;
  const auto first = take_head(bytes, head);
  if (!first) return std::unexpected(first.error());
  if (!*first) return std::optional<RelayHead>();
  const std::string_view line = **first;
  const auto one = line.find(' '), two = line.rfind(' ');
  if (one == std::string_view::npos || one == two) return refuse(400, "the request line is malformed");
  const std::string_view version = line.substr(two + 1);
  head.method = line.substr(0, one);
  head.target = line.substr(one + 1, two - one - 1);
  head.version_1_1 = version == "HTTP/1.1";
  if (!head.version_1_1 && version != "HTTP/1.0") return refuse(505, "only HTTP/1.1 is spoken here");
  if (!is_token(head.method) || !head.target.starts_with('/') || !std::ranges::all_of(head.target, is_target_char))
    return refuse(400, "the request line is malformed");
  if (head.method == "CONNECT" || connection_says(head, "upgrade")) return refuse(501, "upgrades are not passed on");
  bool chunked = false;
  const auto length = read_length(head, chunked);
  if (!length) return std::unexpected(length.error());
  if (chunked && !head.version_1_1) return refuse(400, "chunks belong to HTTP/1.1");
  head.framing = chunked ? BodyFraming::chunked : length->value_or(0) > 0 ? BodyFraming::length : BodyFraming::none;
  head.length = length->value_or(0);
  head.keep_alive = head.version_1_1 ? !connection_says(head, "close") : connection_says(head, "keep-alive");
  return std::optional(std::move(head));
}

std::expected<std::optional<RelayHead>, RelayRefusal> read_answer_head(std::string_view bytes, std::string_view method) {
  RelayHead head;
  const auto first = take_head(bytes, head);
  if (!first) return refuse(502, "its answer cannot be read: " + first.error().why);
  if (!*first) return std::optional<RelayHead>();
  const std::string_view line = **first;
  head.version_1_1 = line.starts_with("HTTP/1.1 ");
  if ((!head.version_1_1 && !line.starts_with("HTTP/1.0 ")) || line.size() < 12 || !std::ranges::all_of(line, is_field_char))
    return refuse(502, "what answers there speaks no HTTP");
  const auto [end, error] = std::from_chars(line.data() + 9, line.data() + 12, head.status);
  if (error != std::errc() || end != line.data() + 12 || head.status < 100) return refuse(502, "what answers there speaks no HTTP");
  if (line.size() > 13) head.reason = line.substr(13);
  bool chunked = false;
  const auto length = read_length(head, chunked);
  if (!length) return refuse(502, "its answer cannot be read: " + length.error().why);
  const bool bare = method == "HEAD" || head.status < 200 || head.status == 204 || head.status == 304;
  head.framing = bare      ? BodyFraming::none
                 : chunked ? BodyFraming::chunked
                 : *length ? (**length > 0 ? BodyFraming::length : BodyFraming::none)
                           : BodyFraming::until_close;
  head.length = length->value_or(0);
  head.keep_alive = (head.version_1_1 ? !connection_says(head, "close") : connection_says(head, "keep-alive")) &&
                    head.framing != BodyFraming::until_close;
  return std::optional(std::move(head));
}

std::string forwarded_headers(const RelayHead& head) {
  std::vector<std::string> dropped = {"connection",
                                      "keep-alive",
                                      "proxy-connection",
                                      "proxy-authenticate",
                                      "proxy-authorization",
                                      "te",
                                      "trailer",
                                      "transfer-encoding",
                                      "upgrade",
                                      "content-length",
                                      "expect"};
  if (head.status == 0) dropped.emplace_back("host");
  for (const auto& [name, value] : head.headers)
    if (same_word(name, "connection")) each_word(value, [&](std::string_view word) { dropped.push_back(lower(word)); });
  std::string text;
  for (const auto& [name, value] : head.headers)
    if (std::ranges::find(dropped, lower(name)) == dropped.end()) text += fmt::format("{}: {}\r\n", name, value);
  return text;
}

bool takes_trailers(const RelayHead& request) {
  bool takes = false;
  for (const auto& [name, value] : request.headers)
    if (same_word(name, "te"))
      each_word(value, [&](std::string_view word) { takes = takes || same_word(word.substr(0, word.find(';')), "trailers"); });
  return takes && request.version_1_1;
}

bool BodyReader::finished() const {
  switch (framing_) {
    case BodyFraming::none: return true;
    case BodyFraming::length: return left_ == 0;
    case BodyFraming::chunked: return part_ == Part::end;
    case BodyFraming::until_close: return closed_;
  }
  return true;
}

void BodyReader::closed() { closed_ = true; }

bool BodyReader::take(std::string& in, std::string& out, std::size_t most) {
  std::string_view left = in;
  bool good = true;
  if (framing_ == BodyFraming::chunked) {
    good = take_chunks(left, out, most);
  } else if (framing_ != BodyFraming::none) {
    std::size_t count = std::min(left.size(), most);
    if (framing_ == BodyFraming::length) count = static_cast<std::size_t>(std::min<std::uint64_t>(count, left_)), left_ -= count;
    out.append(left.substr(0, count));
    left.remove_prefix(count);
  }
  in.erase(0, in.size() - left.size());
  return good;
}

bool BodyReader::take_chunks(std::string_view& in, std::string& out, std::size_t most) {
  const std::size_t limit = out.size() + most;
  while (part_ != Part::end && !in.empty()) {
    if (part_ == Part::data) {
      const auto count = static_cast<std::size_t>(std::min<std::uint64_t>({left_, in.size(), limit - out.size()}));
      if (count == 0) return true;
      out.append(in.substr(0, count));
      in.remove_prefix(count);
      left_ -= count;
      if (left_ == 0) part_ = Part::data_end;
      continue;
    }
    const auto end = in.find("\r\n");
    if (end == std::string_view::npos) return in.size() <= most_chunk_line_bytes;
    const std::string_view line = in.substr(0, end);
    if (line.size() > most_chunk_line_bytes) return false;
    if (part_ == Part::data_end) {
      if (!line.empty()) return false;
      part_ = Part::size_line;
    } else if (part_ == Part::trailers) {
      trailer_bytes_ += line.size() + 2;
      if (trailer_bytes_ > most_relay_head_bytes) return false;
      if (line.empty()) part_ = Part::end;
    } else {
      const std::string_view digits = trimmed(line.substr(0, line.find(';')));
      const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), left_, 16);
      if (digits.empty() || error != std::errc() || stop != digits.data() + digits.size() || left_ > (std::uint64_t{1} << 60U))
        return false;
      part_ = left_ == 0 ? Part::trailers : Part::data;
    }
    in.remove_prefix(end + 2);
  }
  return true;
}

std::string as_chunk(std::string_view bytes) { return bytes.empty() ? std::string() : fmt::format("{:x}\r\n{}\r\n", bytes.size(), bytes); }

}  // namespace joulery
