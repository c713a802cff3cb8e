// Every key that may be configured: one table that checks what a layer sets, and that `joulery config keys` and the manual
// page tell. A '*' stands for a name that the user gives: meters.*.host is meters.rack-pdu.host.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "config/settings.h"
#include "core/result.h"

namespace joulery {

enum class KeyType : std::uint8_t { text, texts, flag, whole, number, number_or_text, duration, url };

struct KnownKey {
  std::string_view pattern;  // "meters.*.timeout"
  KeyType type;
  std::string_view fallback;  // what holds where nothing is set, as a person reads it; "" where nothing does
  std::string_view meaning;   // one line
  std::string_view choices = {};  // "auto|all|none": the texts that it may be; "" where any may be
};

std::span<const KnownKey> known_keys();
std::string_view name_of(KeyType type);  // "text", "list of texts", ...

// The row of a whole key, null where there is none.
const KnownKey* find_known_key(std::string_view key);
// True where some known key lies below: "meters", "meters.bmc".
bool is_known_section(std::string_view key);
// A name in place of a '*': letters, digits, '-' and '_', at most 64.
bool is_valid_name(std::string_view name);

// Why a key may not be set: nearest names, or for a secret written out how it is given instead. Its value is never in it.
Error unknown_key_error(std::string_view key, const Origin& origin);

Error wrong_type_error(const KnownKey& known, std::string_view key, const Origin& origin);

// The value as the key's type wants it: a whole number where a broken one may stand stays whole. Errors: usage, with the
// origin, for a value of another type, one that is none of the choices, a number that is not finite, a time without unit.
Result<SettingValue> checked_value(const KnownKey& known, std::string_view key, SettingValue value, const Origin& origin);
// The same from the text of an environment variable or a flag: "true", "3", "a,b".
Result<SettingValue> value_from_text(const KnownKey& known, std::string_view key, std::string_view text, const Origin& origin);

}  // namespace joulery
