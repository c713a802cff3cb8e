// Which processor this is: its family, year and class by its name or, where the name is general, by the numbers it
// reports; and the thermal design power that its maker states. All by tables in data/.
//
// Invariant: a name that no table knows gives no family and no TDP, never a near miss.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/cpu_identity.h"
#include "core/quantity.h"

namespace joulery {

// The model without marks, maker, clock and filling words: "Intel(R) Xeon(R) CPU E5-2660 v2 @ 2.20GHz" -> "xeone5-2660v2".
std::string plain_cpu_name(std::string_view model_name);

// True where `text` matches `pattern`: # is a digit, ? one character, * any run; all else is itself.
bool matches(std::string_view pattern, std::string_view text);

// 0 entry (one socket), 1 small, 2 main, 3 large: data/cpu_families.csv says which.
struct CpuKind {
  std::string family;    // "icelake", "zen3": "" where not known
  int year = 2019;       // when it came out; this where not known
  int market_class = 2;
  bool by_name = false;  // found by its name, not by its numbers
};

CpuKind find_cpu_kind(const CpuIdentity& cpu);

// Watts per chip as the maker states; nothing where the table does not hold this very name.
std::optional<Power> find_tdp(std::string_view model_name);

}  // namespace joulery
