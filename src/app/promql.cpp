#include "app/promql.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "publish/utf8.h"

namespace joulery {
namespace {

using Json = nlohmann::json;

constexpr std::size_t most_answer_bytes = 512 << 20;
constexpr double latest = 1e13;  // seconds: what a sample's time must be below

std::string percent_encoded(std::string_view text) {
  std::string encoded;
  for (const unsigned char c : text) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '-' || c == '_' || c == '.';
    encoded += plain ? std::string(1, static_cast<char>(c)) : fmt::format("%{:02X}", c);
  }
  return encoded;
}

// [seconds, "value"]; nothing where it is none or not finite.
std::optional<CounterSample> sample_of(const Json& pair) {
  if (!pair.is_array() || pair.size() != 2 || !pair[0].is_number() || !pair[1].is_string()) return std::nullopt;
  const auto& text = pair[1].get_ref<const std::string&>();
  const double time = pair[0].get<double>();
  if (!(std::abs(time) < latest)) return std::nullopt;
  CounterSample sample{std::llround(time * 1000), 0};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), sample.value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(sample.value)) return std::nullopt;
  return sample;
}

bool read_series(const Json& row, PromSeries& series) {
  if (!row.is_object() || !row.contains("metric") || !row["metric"].is_object()) return false;
  for (const auto& [name, value] : row["metric"].items()) {
    if (!value.is_string()) return false;
    if (name != "__name__") series.labels[name] = value.get<std::string>();
  }
  if (row.contains("value")) {
    if (const auto sample = sample_of(row["value"])) series.samples.push_back(*sample);
  } else if (row.contains("values") && row["values"].is_array()) {
    for (const Json& pair : row["values"])
      if (const auto sample = sample_of(pair)) series.samples.push_back(*sample);
  } else {
    return false;
  }
  return true;
}

std::unexpected<Error> no_answer_of_an_engine() {
  return fail(ErrorCode::format, "what answers there is no engine that speaks PromQL", "",
              "give the address that /api/v1/query follows: http://prometheus.lan:9090");
}

// What the engine says of its refusal; an engine may also say nothing, or nothing that can be read.
std::string words_of_refusal(const Json& answer) {
  std::string said;
  if (answer.contains("error") && answer["error"].is_string()) said = answer["error"].get_ref<const std::string&>();
  return said.find_first_not_of(" \t\r\n") == std::string::npos ? "the engine refuses the question and does not say why" : printable(said);
}

}  // namespace

Result<std::vector<PromSeries>> parse_prom_answer(std::string_view json) {
  const Json answer = Json::parse(json, nullptr, false);
  if (!answer.is_object() || !answer.contains("status")) return no_answer_of_an_engine();
  if (answer["status"] != "success") { return fail(ErrorCode::usage, words_of_refusal(answer)); }
  if (!answer.contains("data") || !answer["data"].is_object() || !answer["data"].contains("result") || !answer["data"]["result"].is_array())
    return no_answer_of_an_engine();
  std::vector<PromSeries> all;
  for (const Json& row : answer["data"]["result"]) {
    PromSeries series;
    if (!read_series(row, series)) return no_answer_of_an_engine();
    if (!series.samples.empty()) all.push_back(std::move(series));
  }
  return all;
}

Result<PromEndpoint> PromEndpoint::make(std::string url, HttpAccess access, Duration timeout) {
  while (url.ends_with('/')) url.pop_back();
  auto client = HttpClient::make(std::move(access));
  if (!client) return fail(ErrorCode::unsupported, client.error().what, url, client.error().remedy);
  return PromEndpoint(std::move(url), *std::move(client), timeout);
}

Result<std::vector<PromSeries>> PromEndpoint::ask(const std::string& query, WallTime at) {
  HttpCall request{.method = "POST", .url = url_ + "/api/v1/query"};
  request.body = fmt::format("query={}&time={}.{:03}", percent_encoded(query), at.ns / 1'000'000'000, at.ns / 1'000'000 % 1000);
  request.content_type = "application/x-www-form-urlencoded";
  request.most_bytes = most_answer_bytes;
  const auto answer = client_.send(request, timeout_);
  if (!answer) return fail(ErrorCode::io, answer.error().what, url_, answer.error().remedy);
  auto series = parse_prom_answer(answer->body);
  if (series) return series;
  if (const auto trouble = trouble_of_status(answer->status); trouble && series.error().code == ErrorCode::format) {
    const bool login = trouble->reason == MissingReason::permission;
    return fail(login ? ErrorCode::permission : ErrorCode::io, trouble->what, url_,
                login ? "check fleet.token_file, or fleet.user and fleet.password_file" : trouble->remedy);
  }
  return fail(series.error().code, series.error().what, url_, series.error().hint);
}

std::string promql_quoted(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : valid_utf8(text)) {
    if (c == '\n') {
      quoted += "\\n";
      continue;
    }
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + '"';
}

std::string promql_duration(Duration duration) { return fmt::format("{}ms", std::max<std::int64_t>(1, duration.base_units() / 1'000'000)); }

}  // namespace joulery
