#include "watch/serving/otlp_spans.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

namespace joulery {
namespace {

using Json = nlohmann::json;

const Json* member(const Json& object, const char* name) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(name);
  return found == object.end() ? nullptr : &*found;
}

// 64-bit numbers come as texts in protobuf's JSON, and as numbers from some writers.
std::optional<std::int64_t> whole(const Json* value) {
  if (!value) return std::nullopt;
  if (value->is_number_unsigned() && value->get<std::uint64_t>() > static_cast<std::uint64_t>(INT64_MAX)) return std::nullopt;
  if (value->is_number_integer()) return value->get<std::int64_t>();
  if (!value->is_string()) return std::nullopt;
  const auto& text = value->get_ref<const std::string&>();
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

class Attributes {
 public:
  explicit Attributes(const Json& span) : list_(member(span, "attributes")) {}

  std::string text(std::initializer_list<const char*> names) const {
    const Json* value = find(names);
    const Json* found = value ? member(*value, "stringValue") : nullptr;
    return found && found->is_string() ? found->get<std::string>() : std::string();
  }
  std::optional<double> number(std::initializer_list<const char*> names) const {
    const Json* value = find(names);
    if (!value) return std::nullopt;
    if (const auto integer = whole(member(*value, "intValue"))) return check(static_cast<double>(*integer));
    const Json* real = member(*value, "doubleValue");
    return real && real->is_number() ? check(real->get<double>()) : std::nullopt;
  }

 private:
  static std::optional<double> check(double value) {
    return std::isfinite(value) && value >= 0 && value < 1e12 ? std::optional(value) : std::nullopt;
  }
  // The first of the names that the span has.
  const Json* find(std::initializer_list<const char*> names) const {
    if (!list_ || !list_->is_array()) return nullptr;
    for (const char* name : names)
      for (const Json& one : *list_) {
        const Json* key = member(one, "key");
        if (key && key->is_string() && key->get_ref<const std::string&>() == name) return member(one, "value");
      }
    return nullptr;
  }
  const Json* list_;
};

// Within [0, 1e9 s], so that it can be added to any time of today.
std::optional<Duration> length(const std::optional<double>& value) {
  return value && *value < 1e9 ? std::optional(seconds(*value)) : std::nullopt;
}

std::optional<ServedRequest> request_of(const Json& span) {
  const Attributes attributes(span);
  const auto start = whole(member(span, "startTimeUnixNano")), end = whole(member(span, "endTimeUnixNano"));
  ServedRequest request;
  request.tokens_in = attributes.number({"gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens"});
  request.tokens_out = attributes.number({"gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens"});
  if (!start || !end || *start < 0 || *end < *start || *end > 8'000'000'000'000'000'000 || (!request.tokens_in && !request.tokens_out))
    return std::nullopt;
  request.id = attributes.text({"gen_ai.request.id", "gen_ai.response.id"});
  request.model = attributes.text({"gen_ai.response.model", "gen_ai.request.model"});
  request.start = {*start};
  request.end = {*end};
  if (const auto cached = attributes.number({"gen_ai.usage.cache_read.input_tokens"}); cached && request.tokens_in)
    request.tokens_in = std::max(0.0, *request.tokens_in - *cached);
  const auto queue = length(attributes.number({"gen_ai.latency.time_in_queue"}));
  const auto first =
      length(attributes.number({"gen_ai.latency.time_to_first_token", "gen_ai.server.time_to_first_token", "gen_ai.time_to_first_token"}));
  if (queue) request.scheduled = std::min(request.start + *queue, request.end);
  if (first) request.first_token = std::clamp(request.start + *first, request.scheduled.value_or(request.start), request.end);
  return request;
}

void take_document(const Json& document, RequestLog& log) {
  const Json* resources = member(document, "resourceSpans");
  if (!resources || !resources->is_array()) return;
  for (const Json& resource : *resources)
    for (const char* scopes_name : {"scopeSpans", "instrumentationLibrarySpans"}) {
      const Json* scopes = member(resource, scopes_name);
      if (!scopes || !scopes->is_array()) continue;
      for (const Json& scope : *scopes) {
        const Json* spans = member(scope, "spans");
        if (!spans || !spans->is_array()) continue;
        for (const Json& span : *spans)
          if (auto request = request_of(span)) log.requests.push_back(*std::move(request));
      }
    }
}

}  // namespace

RequestLog parse_otlp_spans(std::string_view text) {
  RequestLog log;
  if (const Json whole_text = Json::parse(text, nullptr, false); !whole_text.is_discarded()) {
    take_document(whole_text, log);
    return log;
  }
  for_each_line(text, most_otlp_line_bytes, log, [&](std::string_view line) -> std::string_view {
    const Json document = Json::parse(line, nullptr, false);
    if (document.is_discarded()) return "no JSON";
    take_document(document, log);
    return "";
  });
  return log;
}

bool looks_like_otlp(std::string_view text) { return text.substr(0, 4096).contains("\"resourceSpans\""); }

}  // namespace joulery
