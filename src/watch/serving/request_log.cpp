#include "watch/serving/request_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <expected>
#include <nlohmann/json.hpp>

namespace joulery {
namespace {

using Json = nlohmann::json;

// A moment since 1970 in seconds, milliseconds, microseconds or nanoseconds: which, its size tells (seconds stay below 1e11
// until the year 5138).
std::optional<WallTime> moment(const Json& line, const char* name) {
  const auto found = line.find(name);
  if (found == line.end() || !found->is_number()) return std::nullopt;
  if (found->is_number_integer()) {
    const auto value = found->is_number_unsigned() && found->get<std::uint64_t>() > static_cast<std::uint64_t>(INT64_MAX)
                           ? std::int64_t{-1}
                           : found->get<std::int64_t>();
    if (value >= 100'000'000'000'000'000) return WallTime{value};
  }
  const double value = found->get<double>();
  if (!std::isfinite(value) || value < 0 || value >= 9.2e18) return std::nullopt;
  const std::int64_t factor = value < 1e11 ? 1'000'000'000 : value < 1e14 ? 1'000'000 : value < 1e17 ? 1'000 : 1;
  const double whole = std::floor(value);  // apart, so that nothing of a double's 16 digits is lost
  if (whole * static_cast<double>(factor) >= 9.2e18) return std::nullopt;
  return WallTime{static_cast<std::int64_t>(whole) * factor + to_whole((value - whole) * static_cast<double>(factor))};
}

std::optional<double> count(const Json& line, const char* name) {
  const auto found = line.find(name);
  if (found == line.end() || !found->is_number()) return std::nullopt;
  const double value = found->get<double>();
  return std::isfinite(value) && value >= 0 && value < 1e12 ? std::optional(value) : std::nullopt;
}

std::string text(const Json& line, const char* name) {
  const auto found = line.find(name);
  return found != line.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::expected<ServedRequest, const char*> request_of(const Json& line) {
  if (!line.is_object()) return std::unexpected("no JSON object");
  ServedRequest request;
  const auto start = moment(line, "start"), end = moment(line, "end");
  if (!start) return std::unexpected("no start");
  if (!end) return std::unexpected("no end");
  request.id = text(line, "id");
  request.model = text(line, "model");
  request.group = text(line, "group");
  request.start = *start;
  request.end = *end;
  request.scheduled = moment(line, "scheduled");
  request.first_token = moment(line, "first_token");
  request.tokens_in = count(line, "tokens_in");
  request.tokens_out = count(line, "tokens_out");
  if (const auto cached = count(line, "tokens_cached"); cached && request.tokens_in)
    request.tokens_in = std::max(0.0, *request.tokens_in - *cached);
  WallTime last = request.start;
  for (const auto& next : {request.scheduled, request.first_token, std::optional(request.end)}) {
    if (next && *next < last) return std::unexpected("its times go backwards");
    last = next.value_or(last);
  }
  return request;
}

}  // namespace

void for_each_line(std::string_view text, std::size_t most_bytes, RequestLog& log,
                   const std::function<std::string_view(std::string_view)>& take) {
  std::size_t number = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = text.substr(begin, end - begin);
    begin = end + 1;
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    const std::string trouble = line.size() > most_bytes ? fmt::format("longer than {} MiB", most_bytes >> 20) : std::string(take(line));
    if (!trouble.empty() && log.bad_lines++ == 0) log.first_trouble = fmt::format("line {}: {}", number, trouble);
  }
}

RequestLog parse_request_log(std::string_view text) {
  RequestLog log;
  for_each_line(text, most_request_line_bytes, log, [&](std::string_view line) -> std::string_view {
    auto request = request_of(Json::parse(line, nullptr, false));
    if (!request) return request.error();
    log.requests.push_back(*std::move(request));
    return "";
  });
  return log;
}

}  // namespace joulery
