// The metadata of a recording that anybody may have written: whatever it holds, the answer is facts or an error that names
// the entry, and facts survive being written and read again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "ledger/run_facts.h"

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

// One entry a line: NAME=JSON.
joulery::Metadata metadata_of(std::string_view text) {
  joulery::Metadata metadata;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    if (const auto equals = line.find('='); equals != std::string_view::npos)
      metadata[std::string(line.substr(0, equals))] = line.substr(equals + 1);
    text.remove_prefix(std::min(text.size(), line.size() + 1));
  }
  return metadata;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace joulery;
  const auto facts = facts_from(metadata_of({reinterpret_cast<const char*>(data), size}));
  if (!facts) {
    require(!facts.error().where.empty());
    return 0;
  }
  const auto again = facts_from(to_metadata(*facts));
  require(again.has_value());
  require(again->exit_code == facts->exit_code && again->missing.size() == facts->missing.size());
  return 0;
}
