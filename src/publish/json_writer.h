// Writes JSON (RFC 8259) piece by piece into a string: order as called, energies exact, NaN and infinities as null.
// Invariant: the output is valid UTF-8 whatever bytes come in (a byte that is no UTF-8 becomes the visible text \xff).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/quality.h"
#include "core/quantity.h"

namespace joulery {

// A JSON string with its quotes.
std::string json_quoted(std::string_view text);

class JsonWriter {
 public:
  // `indent` spaces for each level; 0 puts everything on one line.
  explicit JsonWriter(int indent = 2) : indent_(indent) {}

  JsonWriter& begin_object() { return open('{'); }
  JsonWriter& end_object() { return close('}'); }
  JsonWriter& begin_array() { return open('['); }
  JsonWriter& end_array() { return close(']'); }
  JsonWriter& key(std::string_view name);

  JsonWriter& text(std::string_view value) { return raw(json_quoted(value)); }
  JsonWriter& text_or_null(std::string_view value) { return value.empty() ? null() : text(value); }
  JsonWriter& boolean(bool value) { return raw(value ? "true" : "false"); }
  JsonWriter& whole(std::int64_t value) { return raw(std::to_string(value)); }
  JsonWriter& number(double value);                         // the shortest decimal that reads back; null where not finite
  JsonWriter& number(const std::optional<double>& value) { return value ? number(*value) : null(); }
  JsonWriter& energy(Energy value);                         // joules with six decimals, exact
  JsonWriter& energy(const std::optional<Energy>& value) { return value ? energy(*value) : null(); }
  JsonWriter& null() { return raw("null"); }
  JsonWriter& raw(std::string_view json);                   // a value that is JSON already

  const std::string& str() const { return out_; }

 private:
  JsonWriter& open(char bracket);
  JsonWriter& close(char bracket);
  void separate();
  void new_line();

  int indent_;
  bool after_key_ = false;
  std::vector<bool> has_items_;  // for each open bracket
  std::string out_;
};

// "joules", "low" and "high" of an object; null where nothing is known.
void write_estimate(JsonWriter& json, const std::optional<Estimate>& value);

// An array of texts.
void write_strings(JsonWriter& json, const std::vector<std::string>& values);

}  // namespace joulery
