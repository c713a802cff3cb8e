#include "publish/json_writer.h"

#include <fmt/format.h>

#include <cmath>

#include "core/units.h"
#include "publish/numbers.h"
#include "publish/utf8.h"

namespace joulery {

std::string json_quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : valid_utf8(text)) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\')
      (out += '\\') += c;
    else if (c == '\n')
      out += "\\n";
    else if (c == '\t')
      out += "\\t";
    else if (byte < 0x20 || byte == 0x7f)
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(byte));
    else
      out += c;
  }
  return out += '"';
}

JsonWriter& JsonWriter::key(std::string_view name) {
  separate();
  out_ += json_quoted(name);
  out_ += indent_ ? ": " : ":";
  after_key_ = true;
  return *this;
}

JsonWriter& JsonWriter::number(double value) { return std::isfinite(value) ? raw(to_decimal(value)) : null(); }

JsonWriter& JsonWriter::energy(Energy value) { return raw(exact_joules(value)); }

JsonWriter& JsonWriter::raw(std::string_view json) {
  separate();
  out_ += json;
  return *this;
}

JsonWriter& JsonWriter::open(char bracket) {
  separate();
  out_ += bracket;
  has_items_.push_back(false);
  return *this;
}

JsonWriter& JsonWriter::close(char bracket) {
  const bool had_items = has_items_.back();
  has_items_.pop_back();
  if (had_items) new_line();
  out_ += bracket;
  return *this;
}

void JsonWriter::separate() {
  if (after_key_) {
    after_key_ = false;
    return;
  }
  if (has_items_.empty()) return;
  if (has_items_.back()) out_ += ',';
  has_items_.back() = true;
  new_line();
}

void JsonWriter::new_line() {
  if (indent_ == 0) return;
  out_ += '\n';
  out_.append(has_items_.size() * static_cast<std::size_t>(indent_), ' ');
}

void write_estimate(JsonWriter& json, const std::optional<Estimate>& value) {
  json.key("joules").energy(value ? std::optional(value->value) : std::nullopt);
  json.key("low").energy(value ? std::optional(value->low) : std::nullopt);
  json.key("high").energy(value ? std::optional(value->high) : std::nullopt);
}

void write_strings(JsonWriter& json, const std::vector<std::string>& values) {
  json.begin_array();
  for (const std::string& value : values) json.text(value);
  json.end_array();
}

}  // namespace joulery
