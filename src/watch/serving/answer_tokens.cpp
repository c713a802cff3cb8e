#include "watch/serving/answer_tokens.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace joulery {
namespace {

using Json = nlohmann::json;

const Json* member(const Json* object, const char* name) {
  if (!object || !object->is_object()) return nullptr;
  const auto found = object->find(name);
  return found == object->end() ? nullptr : &*found;
}

std::optional<double> count(const Json* object, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    const Json* value = member(object, name);
    if (!value || !value->is_number()) continue;
    const double number = value->get<double>();
    if (std::isfinite(number) && number >= 0 && number < 1e12) return number;
  }
  return std::nullopt;
}

std::string text(const Json& object, const char* name) {
  const Json* value = member(&object, name);
  return value && value->is_string() ? value->get<std::string>().substr(0, 256) : std::string();
}

bool filled(const Json* value) { return value && value->is_string() && !value->get_ref<const std::string&>().empty(); }

// A piece of the answer: OpenAI's choices[].delta or choices[].text, Ollama's message or response, TGI's token.
bool brings_text(const Json& part) {
  if (const Json* choices = member(&part, "choices"); choices && choices->is_array())
    for (const Json& choice : *choices) {
      const Json* delta = member(&choice, "delta");
      if (filled(member(delta, "content")) || filled(member(delta, "reasoning_content")) || filled(member(delta, "reasoning")) ||
          filled(member(&choice, "text")))
        return true;
      if (const Json* tools = member(delta, "tool_calls"); tools && tools->is_array() && !tools->empty()) return true;
    }
  if (const Json* type = member(&part, "type");
      type && type->is_string() && type->get_ref<const std::string&>() == "response.output_text.delta")
    return true;
  return filled(member(member(&part, "message"), "content")) || filled(member(&part, "response")) ||
         filled(member(member(&part, "token"), "text"));
}

std::string lower(std::string_view word) {
  std::string low(word);
  std::ranges::transform(low, low.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return low;
}

}  // namespace

AnswerPart read_answer_part(std::string_view bytes) {
  AnswerPart part;
  const Json json = Json::parse(bytes, nullptr, false);
  if (!json.is_object()) return part;
  const Json* inner = member(&json, "response");  // the Responses API wraps its last event
  const Json& whole = inner && inner->is_object() ? *inner : json;
  part.id = text(whole, "id");
  part.model = text(whole, "model");
  part.text = brings_text(json);
  const Json* usage = member(&whole, "usage");
  part.tokens_in = count(usage, {"prompt_tokens", "input_tokens"});
  part.tokens_out = count(usage, {"completion_tokens", "output_tokens"});
  part.tokens_cached = count(member(usage, "prompt_tokens_details"), {"cached_tokens"});
  if (!usage) {
    part.tokens_in = count(&json, {"prompt_eval_count"});
    part.tokens_out = count(&json, {"eval_count"});
    if (!part.tokens_out) part.tokens_out = count(member(&json, "details"), {"generated_tokens"});
  }
  return part;
}

AskedFor read_request_body(std::string_view bytes) {
  AskedFor asked;
  const Json json = Json::parse(bytes, nullptr, false);
  if (!json.is_object()) return asked;
  asked.model = text(json, "model");
  if (const Json* stream = member(&json, "stream"); stream && stream->is_boolean()) asked.stream = stream->get<bool>();
  return asked;
}

AnswerForm answer_form(std::string_view content_type) {
  const std::string type = lower(content_type.substr(0, content_type.find(';')));
  if (type.starts_with("text/event-stream")) return AnswerForm::events;
  if (type.starts_with("application/x-ndjson") || type.starts_with("application/jsonl")) return AnswerForm::json_lines;
  if (type.starts_with("application/json")) return AnswerForm::json;
  return AnswerForm::other;
}

void AnswerTokens::take(std::string_view bytes, MonoTime at) {
  if (form_ == AnswerForm::other || bytes.empty()) return;
  if (form_ == AnswerForm::json) {
    skipping_ = skipping_ || held_.size() + bytes.size() > most_event_bytes;
    if (!skipping_) held_.append(bytes);
    return;
  }
  while (!bytes.empty()) {
    const auto end = bytes.find('\n');
    const std::string_view piece = bytes.substr(0, end);
    if (!skipping_ && held_.size() + piece.size() > most_event_bytes) {
      skipping_ = true;
      held_.clear();
    }
    if (!skipping_) held_.append(piece);
    if (end == std::string_view::npos) return;
    if (!skipping_) take_line(held_, at);
    held_.clear();
    skipping_ = false;
    bytes.remove_prefix(end + 1);
  }
}

void AnswerTokens::ended(MonoTime at) {
  if (!skipping_ && !held_.empty()) {
    if (form_ == AnswerForm::json)
      take_part(read_answer_part(held_), at);
    else
      take_line(held_, at);
  }
  std::string().swap(held_);
  if (form_ == AnswerForm::json) first_.reset();  // it came as a whole
}

void AnswerTokens::take_line(std::string_view line, MonoTime at) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (form_ == AnswerForm::events) {
    if (!line.starts_with("data:")) return;
    line.remove_prefix(5);
    if (line.starts_with(' ')) line.remove_prefix(1);
    if (line == "[DONE]") return;
  }
  if (!line.empty()) take_part(read_answer_part(line), at);
}

void AnswerTokens::take_part(const AnswerPart& part, MonoTime at) {
  if (id_.empty()) id_ = part.id;
  if (!part.model.empty()) model_ = part.model;
  if (part.text && form_ != AnswerForm::json) {
    if (!first_) first_ = at;
    ++pieces_;
  }
  // Some servers tell the usage so far with every event: the last word counts.
  if (part.tokens_in) in_ = std::max(0.0, *part.tokens_in - part.tokens_cached.value_or(0));
  if (part.tokens_out) out_ = part.tokens_out;
}

}  // namespace joulery
