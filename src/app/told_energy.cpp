#include "app/told_energy.h"

#include <algorithm>
#include <cstring>
#include <string>

namespace joulery {
namespace {

// As many whole bytes as fit, never cutting a UTF-8 sequence.
void put_missing(const std::vector<std::string>& missing, char (&into)[JOULERY_MISSING_BYTES]) {
  std::string text;
  for (const std::string& part : missing) text += (text.empty() ? "" : "; ") + part;
  std::size_t keep = std::min(text.size(), sizeof into - 1);
  while (keep > 0 && keep < text.size() && (static_cast<unsigned char>(text[keep]) & 0xC0) == 0x80) --keep;
  std::memcpy(into, text.data(), keep);
}

}  // namespace

joulery_energy told_energy(MonoTime begin, const LiveEnergy::Sum& sum) {
  joulery_energy told{};
  told.begin_ns = begin.ns;
  told.until_ns = sum.until.ns;
  told.watts = sum.power ? to_watts(*sum.power) : -1;
  told.holes = static_cast<std::uint64_t>(sum.holes);
  told.quality = static_cast<std::uint32_t>(sum.energy ? sum.quality : Quality::missing);
  if (sum.partial) told.flags |= JOULERY_ENERGY_PARTIAL;
  if (sum.energy) {
    told.flags |= JOULERY_ENERGY_KNOWN;
    told.microjoules = sum.energy->value.base_units();
    told.low = sum.energy->low.base_units();
    told.high = sum.energy->high.base_units();
  }
  put_missing(sum.missing, told.missing);
  return told;
}

}  // namespace joulery
