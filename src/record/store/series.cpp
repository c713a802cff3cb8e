#include "record/store/series.h"

#include <algorithm>
#include <bit>

namespace joulery {
namespace {

void put_text(std::string_view text, Bytes& out) {
  put_varint(out, text.size());
  out.insert(out.end(), text.begin(), text.end());
}

std::string_view take_text(ByteReader& in) {
  const auto bytes = in.take(in.varint());
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

constexpr std::size_t most_labels = 256;

}  // namespace

void put_key(const SeriesKey& key, Bytes& out) {
  put_text(key.name, out);
  out.push_back(static_cast<std::uint8_t>(key.kind));
  const auto unit = std::bit_cast<std::uint64_t>(key.unit);
  for (unsigned i = 0; i < 8; ++i) out.push_back(static_cast<std::uint8_t>(unit >> (8 * i)));
  put_varint(out, key.labels.size());
  for (const auto& [label, value] : key.labels) {
    put_text(label, out);
    put_text(value, out);
  }
}

std::string_view KeyView::label(std::string_view wanted) const {
  for (const auto& [label, value] : labels) {
    if (label == wanted) return value;
  }
  return {};
}

std::optional<KeyView> take_key(ByteReader& in) {
  KeyView key;
  key.name = take_text(in);
  const std::uint8_t kind = in.byte();
  std::uint64_t unit = 0;
  for (unsigned i = 0; i < 8; ++i) unit |= std::uint64_t{in.byte()} << (8 * i);
  const std::uint64_t labels = in.varint();
  if (!in.ok() || kind > static_cast<std::uint8_t>(SeriesKind::mean) || labels > most_labels) return std::nullopt;
  key.kind = static_cast<SeriesKind>(kind);
  key.unit = std::bit_cast<double>(unit);
  key.labels.reserve(labels);
  for (std::uint64_t i = 0; i < labels && in.ok(); ++i) {
    const std::string_view label = take_text(in);
    key.labels.emplace_back(label, take_text(in));
  }
  if (!in.ok()) return std::nullopt;
  return key;
}

SeriesKey owned(const KeyView& view) {
  SeriesKey key{std::string(view.name), {}, view.unit, view.kind};
  for (const auto& [label, value] : view.labels) key.labels.emplace(label, value);
  return key;
}

// The last '*' is tried with one byte more after each mismatch: linear but for repeated near misses.
bool glob_matches(std::string_view pattern, std::string_view text) {
  std::size_t p = 0, t = 0, star = std::string_view::npos, resume = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p, ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  return std::all_of(pattern.begin() + static_cast<std::ptrdiff_t>(p), pattern.end(), [](char c) { return c == '*'; });
}

bool SeriesMatcher::matches(const KeyView& key) const {
  if (!glob_matches(name, key.name)) return false;
  return std::all_of(labels.begin(), labels.end(),
                     [&](const Label& of) { return glob_matches(of.pattern, key.label(of.label)) != of.negated; });
}

}  // namespace joulery
