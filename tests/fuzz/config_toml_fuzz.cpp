// A configuration file that holds anything: the answer is known keys with values of their types, or an error that says so.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "config/known_keys.h"
#include "config/toml_layer.h"

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace joulery;
  Settings settings;
  const auto added = add_toml({reinterpret_cast<const char*>(data), size}, "fuzz.toml", settings);
  if (!added) require(!added.error().what.empty());
  for (const auto& [key, setting] : settings.all()) {
    const KnownKey* known = find_known_key(key);
    require(known != nullptr && setting.origin.line > 0);
    require(checked_value(*known, key, setting.value, setting.origin).has_value());
  }
  return 0;
}
