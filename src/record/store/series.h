// What a series of the store is: a name, labels, what one count is worth, and how counts combine over time.
//
// Invariant: two series are the same where name, labels, unit and kind are; their bytes (key_bytes) are then the same too.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "record/bytes.h"

namespace joulery {

enum class SeriesKind : std::uint8_t {
  sum,   // what came in during the tick (energy): counts of a longer time add
  mean,  // how it stood during the tick (a gauge): a longer time has the mean, weighted by the length of the ticks
};

struct SeriesKey {
  std::string name;                           // "component_joules"
  std::map<std::string, std::string> labels;  // any bytes
  double unit = 1;                            // SI units per count: 0.001 for millijoules
  SeriesKind kind = SeriesKind::sum;
  friend bool operator==(const SeriesKey&, const SeriesKey&) = default;
};

// The key as bytes that a day file holds (docs/formats/store.md), appended to `out`.
void put_key(const SeriesKey& key, Bytes& out);

// A key read in place; the views are into the bytes it came from.
struct KeyView {
  std::string_view name;
  double unit = 1;
  SeriesKind kind = SeriesKind::sum;
  std::vector<std::pair<std::string_view, std::string_view>> labels;  // sorted by label
  std::string_view label(std::string_view wanted) const;              // "" where it has none
};
// Empty: not a key. The reader then stands anywhere.
std::optional<KeyView> take_key(ByteReader& in);
SeriesKey owned(const KeyView& view);

// '*' is any text, '?' any one byte; all else is itself.
bool glob_matches(std::string_view pattern, std::string_view text);

// Which series are meant. An empty matcher means all.
struct SeriesMatcher {
  struct Label {
    std::string label, pattern;  // a glob; a series without the label has "" there
    bool negated = false;        // must not match
  };
  std::string name = "*";  // a glob
  std::vector<Label> labels;
  bool matches(const KeyView& key) const;
};

}  // namespace joulery
