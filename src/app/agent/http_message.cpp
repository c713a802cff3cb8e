#include "app/agent/http_message.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ctime>

namespace joulery {
namespace {

struct Refusal {
  int status = 0;
  const char* why = "";
};

bool is_token(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}
bool is_token(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return is_token(c); });
}

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  return first == std::string_view::npos ? std::string_view() : text.substr(first, text.find_last_not_of(" \t") + 1 - first);
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::optional<std::string> decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    char c = text[i] == '+' ? ' ' : text[i];
    if (c == '%') {
      if (i + 2 >= text.size()) return std::nullopt;
      const int high = hex_digit(text[i + 1]), low = hex_digit(text[i + 2]);
      if (high < 0 || low < 0) return std::nullopt;
      c = static_cast<char>(high * 16 + low);
      i += 2;
    }
    if (is_control(c)) return std::nullopt;
    out += c;
  }
  return out;
}

// "GET /path?query HTTP/1.1"
Refusal parse_line(std::string_view line, HttpRequest& request) {
  const auto first = line.find(' '), last = line.rfind(' ');
  if (first == std::string_view::npos || first == last) return {400, "the request line has not three parts"};
  const std::string_view method = line.substr(0, first), target = line.substr(first + 1, last - first - 1), version = line.substr(last + 1);
  if (!is_token(method)) return {400, "the method is no word"};
  if (version != "HTTP/1.1" && version != "HTTP/1.0")
    return version.starts_with("HTTP/") ? Refusal{505, "the agent speaks HTTP/1.1"}
                                        : Refusal{400, "the request line names no version of HTTP"};
  if (target.size() > most_target_bytes) return {414, "the address is too long"};
  if (!target.starts_with('/')) return {400, "the address must begin with a slash"};
  if (std::ranges::any_of(target, [](char c) { return c == ' ' || c == '#' || is_control(c); }))
    return {400, "the address holds what none may hold"};
  const auto mark = target.find('?');
  request.method = method;
  request.path = target.substr(0, mark);
  request.keep_alive = version == "HTTP/1.1";
  if (mark == std::string_view::npos) return {};
  auto parameters = parse_query(target.substr(mark + 1));
  if (!parameters) return {400, "the query cannot be decoded"};
  request.parameters = *std::move(parameters);
  return {};
}

Refusal parse_header(std::string_view line, HttpRequest& request) {
  const auto colon = line.find(':');
  if (colon == std::string_view::npos || !is_token(line.substr(0, colon))) return {400, "a header is not NAME: VALUE"};
  const std::string_view value = trimmed(line.substr(colon + 1));
  if (std::ranges::any_of(value, [](char c) { return is_control(c) && c != '\t'; })) return {400, "a header holds a control character"};
  if (request.headers.size() == most_headers) return {431, "too many headers"};
  request.headers.emplace_back(lower(line.substr(0, colon)), value);
  return {};
}

Refusal judge_headers(HttpRequest& request, bool needs_host) {
  const auto hosts = std::ranges::count(request.headers, std::string("host"), &std::pair<std::string, std::string>::first);
  if (hosts > 1 || (hosts == 0 && needs_host)) return {400, "there must be one Host header"};
  if (std::ranges::count(request.headers, std::string("authorization"), &std::pair<std::string, std::string>::first) > 1)
    return {400, "there must be at most one Authorization header"};
  if (request.header("transfer-encoding")) return {501, "the agent takes no body"};
  for (const auto& [name, value] : request.headers)
    if (name == "content-length" && value != "0") return {413, "the agent takes no body"};
  const std::string* connection = request.header("connection");
  if (connection) {
    const std::string wish = lower(*connection);
    if (wish.find("close") != std::string::npos)
      request.keep_alive = false;
    else if (wish.find("keep-alive") != std::string::npos)
      request.keep_alive = true;
  }
  return {};
}

Refusal parse_head(std::string_view head, HttpRequest& request) {
  bool is_line = true, needs_host = false;
  while (!head.empty()) {
    const auto end = head.find("\r\n");
    const std::string_view line = head.substr(0, end);
    head = end == std::string_view::npos ? std::string_view() : head.substr(end + 2);
    const Refusal refusal = is_line ? parse_line(line, request) : parse_header(line, request);
    if (refusal.status != 0) return refusal;
    if (is_line) needs_host = request.keep_alive;  // HTTP/1.1
    is_line = false;
  }
  return judge_headers(request, needs_host);
}

// "Sun, 06 Nov 1994 08:49:37 GMT", whatever the locale.
std::string date_text(std::int64_t unix_seconds) {
  constexpr std::array days{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  constexpr std::array months{"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const std::time_t time = unix_seconds;
  std::tm t{};
  if (!::gmtime_r(&time, &t)) return "Thu, 01 Jan 1970 00:00:00 GMT";
  return fmt::format("{}, {:02} {} {:04} {:02}:{:02}:{:02} GMT", days[static_cast<std::size_t>(t.tm_wday)], t.tm_mday,
                     months[static_cast<std::size_t>(t.tm_mon)], t.tm_year + 1900, t.tm_hour, t.tm_min, t.tm_sec);
}

struct Phrase {
  int status;
  std::string_view text;
};
constexpr Phrase phrases[] = {{200, "OK"},
                              {400, "Bad Request"},
                              {401, "Unauthorized"},
                              {403, "Forbidden"},
                              {404, "Not Found"},
                              {405, "Method Not Allowed"},
                              {408, "Request Timeout"},
                              {413, "Content Too Large"},
                              {414, "URI Too Long"},
                              {421, "Misdirected Request"},
                              {431, "Request Header Fields Too Large"},
                              {500, "Internal Server Error"},
                              {501, "Not Implemented"},
                              {503, "Service Unavailable"},
                              {505, "HTTP Version Not Supported"}};

}  // namespace

const std::string* HttpRequest::header(std::string_view name) const {
  const auto found = std::ranges::find(headers, name, &std::pair<std::string, std::string>::first);
  return found == headers.end() ? nullptr : &found->second;
}

const std::string* HttpRequest::parameter(std::string_view name) const {
  const auto found = std::ranges::find(parameters, name, &std::pair<std::string, std::string>::first);
  return found == parameters.end() ? nullptr : &found->second;
}

std::optional<std::vector<std::pair<std::string, std::string>>> parse_query(std::string_view query) {
  std::vector<std::pair<std::string, std::string>> parameters;
  while (!query.empty()) {
    const auto end = query.find('&');
    const std::string_view one = query.substr(0, end);
    query = end == std::string_view::npos ? std::string_view() : query.substr(end + 1);
    if (one.empty()) continue;
    if (parameters.size() == most_parameters) return std::nullopt;
    const auto equals = one.find('=');
    auto name = decoded(one.substr(0, equals));
    auto value = decoded(equals == std::string_view::npos ? std::string_view() : one.substr(equals + 1));
    if (!name || !value) return std::nullopt;
    parameters.emplace_back(*std::move(name), *std::move(value));
  }
  return parameters;
}

std::optional<ParsedRequest> parse_request(std::string_view bytes) {
  ParsedRequest parsed;
  std::size_t begin = 0;
  while (bytes.substr(begin).starts_with("\r\n")) begin += 2;  // empty lines before a request are to be overlooked
  const auto end = bytes.find("\r\n\r\n", begin);
  const std::size_t head_bytes = (end == std::string_view::npos ? bytes.size() : end + 4);
  if (head_bytes > most_head_bytes) {
    parsed.status = 431;
    parsed.why = "the request is too long";
    return parsed;
  }
  if (end == std::string_view::npos) return std::nullopt;
  parsed.bytes = end + 4;
  const Refusal refusal = parse_head(bytes.substr(begin, end - begin), parsed.request);
  parsed.status = refusal.status;
  parsed.why = refusal.why;
  return parsed;
}

std::string_view reason_phrase(int status) {
  const auto* found = std::ranges::find(phrases, status, &Phrase::status);
  return found == std::end(phrases) ? "Unknown" : found->text;
}

std::string answer_head(const HttpAnswer& answer, bool keep_alive, std::int64_t unix_seconds) {
  std::string head = fmt::format("HTTP/1.1 {} {}\r\nDate: {}\r\nContent-Type: {}\r\n", answer.status, reason_phrase(answer.status),
                                 date_text(unix_seconds), answer.content_type);
  if (!answer.stream) head += fmt::format("Content-Length: {}\r\n", answer.body.size());
  head += "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n";
  for (const auto& [name, value] : answer.headers) head += fmt::format("{}: {}\r\n", name, value);
  head += keep_alive && !answer.stream ? "Connection: keep-alive\r\n\r\n" : "Connection: close\r\n\r\n";
  return head;
}

}  // namespace joulery
