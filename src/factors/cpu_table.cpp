#include "factors/cpu_table.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <vector>

#include "factors/shipped_tables.h"

namespace joulery {
namespace {

constexpr std::array<std::string_view, 5> marks = {"(r)", "(tm)", "®", "™", ","};
constexpr std::array<std::string_view, 4> cuts = {"@", "[", "with radeon", "dell sku"};
constexpr std::array<std::string_view, 6> fillers = {"processor", "cpu", "intel", "amd", "0", "gen"};
constexpr std::array<std::string_view, 5> counts = {"dual", "quad", "six", "eight", "twelve"};

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool all_digits(std::string_view s) { return !s.empty() && std::ranges::all_of(s, is_digit); }

std::string lower_case(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

// "16-core", "quad-core", "13th", "cpu": words that say nothing of the model.
bool says_nothing(std::string_view word) {
  if (std::ranges::find(fillers, word) != fillers.end()) return true;
  if (word.ends_with("th") && all_digits(word.substr(0, word.size() - 2))) return true;
  std::string_view head = word;
  if (head.ends_with("-cores"))
    head.remove_suffix(6);
  else if (head.ends_with("-core"))
    head.remove_suffix(5);
  else
    return false;
  return all_digits(head) || std::ranges::find(counts, head) != counts.end();
}

std::optional<CpuKind> kind_by_name(std::string_view plain) {
  for (const std::string_view line : shipped::cpu_families().subspan(1)) {
    const auto f = shipped::fields(line);
    if (matches(f[0], plain)) {
      return CpuKind{std::string(f[1]), static_cast<int>(*shipped::number(f[2])), static_cast<int>(*shipped::number(f[3])), true};
    }
  }
  return std::nullopt;
}

std::optional<CpuKind> kind_by_numbers(const CpuIdentity& cpu) {
  for (const std::string_view line : shipped::cpu_ids().subspan(1)) {
    const auto f = shipped::fields(line);
    const auto whole = [&](std::size_t i) { return static_cast<int>(*shipped::number(f[i])); };
    if (f[0] == cpu.vendor && whole(1) == cpu.family && cpu.model >= whole(2) && cpu.model <= whole(3) && cpu.stepping >= whole(4)) {
      return CpuKind{std::string(f[5]), whole(6), whole(7), false};
    }
  }
  return std::nullopt;
}

}  // namespace

std::string plain_cpu_name(std::string_view model_name) {
  std::string text = lower_case(model_name);
  for (const std::string_view mark : marks) {
    for (std::size_t at; (at = text.find(mark)) != std::string::npos;) text.replace(at, mark.size(), " ");
  }
  for (const std::string_view cut : cuts) text.resize(std::min(text.size(), text.find(cut)));
  std::string plain;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = text.find_first_not_of(" \t", at);
    if (begin == std::string::npos) break;
    at = std::min(text.size(), text.find_first_of(" \t", begin));
    const std::string_view word = std::string_view(text).substr(begin, at - begin);
    if (!says_nothing(word)) plain += word;
  }
  return plain;
}

bool matches(std::string_view pattern, std::string_view text) {
  std::size_t p = 0, t = 0, star = std::string_view::npos, resume = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || (pattern[p] == '#' ? is_digit(text[t]) : pattern[p] == text[t]))) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {  // let the last * take one more character
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

CpuKind find_cpu_kind(const CpuIdentity& cpu) {
  if (auto kind = kind_by_name(plain_cpu_name(cpu.model_name))) return *kind;
  if (auto kind = kind_by_numbers(cpu)) return *kind;
  return {};
}

std::optional<Power> find_tdp(std::string_view model_name) {
  const std::string plain = plain_cpu_name(model_name);
  if (plain.empty()) return std::nullopt;
  const shipped::Lines lines = shipped::cpu_tdp().subspan(1);  // sorted by name
  const auto name_of = [](std::string_view line) { return line.substr(0, line.find(',')); };
  const auto at = std::ranges::lower_bound(lines, std::string_view(plain), {}, name_of);
  if (at == lines.end() || name_of(*at) != plain) return std::nullopt;
  const auto tdp = shipped::number(at->substr(plain.size() + 1));
  return tdp ? std::optional(watts(*tdp)) : std::nullopt;
}

}  // namespace joulery
