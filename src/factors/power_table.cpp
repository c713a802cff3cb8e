#include "factors/power_table.h"

#include <algorithm>

namespace joulery {
namespace {

using Numbers = std::vector<double>;

Numbers numbers(const std::vector<std::string_view>& fields) {
  Numbers out;
  for (std::size_t i = 2; i < fields.size(); ++i) out.push_back(shipped::number(fields[i]).value_or(0));
  return out;
}

template <std::size_t N>
std::array<double, N> take(const Numbers& v, std::size_t from) {
  std::array<double, N> out{};
  for (std::size_t i = 0; i < N && from + i < v.size(); ++i) out[i] = v[from + i];
  return out;
}

RegressionTree tree_from(const Numbers& v) {
  RegressionTree tree{{}, take<7>(v, 7), take<8>(v, 14)};
  std::ranges::transform(take<7>(v, 0), tree.feature.begin(), [](double f) { return static_cast<int>(f); });
  return tree;
}

Bounded bounded_from(const Numbers& v) {
  const auto a = take<3>(v, 0);
  return {a[0], a[1], a[2]};
}

FamilyRow family_from(const Numbers& v) {
  const auto head = take<4>(v, 0);
  return {static_cast<int>(head[0]), static_cast<int>(head[1]), head[2], head[3], take<level_count>(v, 4)};
}

TypicalHost host_from(const Numbers& v) {
  const auto a = take<6>(v, 0);
  return {a[0], a[1], a[2], a[3], a[4], a[5]};
}

struct Part {
  std::string_view kind;
  void (*put)(PowerTable&, std::string_view name, const Numbers&);
};

EndTarget& target(PowerTable& t, std::string_view name) { return name == "idle" ? t.idle : t.full; }

constexpr Part parts[] = {
    {"start", [](PowerTable& t, std::string_view n, const Numbers& v) { target(t, n).start = take<2>(v, 0)[0]; }},
    {"tree", [](PowerTable& t, std::string_view n, const Numbers& v) { target(t, n).trees.push_back(tree_from(v)); }},
    {"smooth", [](PowerTable& t, std::string_view n, const Numbers& v) { target(t, n).smooth = v; }},
    {"smooth_curve", [](PowerTable& t, std::string_view, const Numbers& v) { t.smooth_curve.push_back(v); }},
    {"later", [](PowerTable& t, std::string_view n, const Numbers& v) { target(t, n).later = v; }},
    {"shift",
     [](PowerTable& t, std::string_view, const Numbers& v) {
       t.idle.shift = take<2>(v, 0)[0];
       t.full.shift = take<2>(v, 0)[1];
     }},
    {"bump_length", [](PowerTable& t, std::string_view, const Numbers& v) { t.bump_length = take<2>(v, 0)[0]; }},
    {"centre", [](PowerTable& t, std::string_view, const Numbers& v) { t.centres.push_back(v); }},
    {"shape", [](PowerTable& t, std::string_view, const Numbers& v) { t.shape.push_back(take<level_count>(v, 0)); }},
    {"half", [](PowerTable& t, std::string_view, const Numbers& v) { t.half = take<level_count>(v, 0); }},
    {"family", [](PowerTable& t, std::string_view n, const Numbers& v) { t.families[std::string(n)] = family_from(v); }},
    {"host", [](PowerTable& t, std::string_view n, const Numbers& v) { t.hosts[std::string(n)] = host_from(v); }},
    {"band", [](PowerTable& t, std::string_view n,
                const Numbers& v) { t.bands[std::string(n)] = {take<level_count>(v, 0), take<level_count>(v, level_count)}; }},
    {"package", [](PowerTable& t, std::string_view, const Numbers& v) { t.package.push_back(bounded_from(v)); }},
    {"memory", [](PowerTable& t, std::string_view, const Numbers& v) { t.memory = bounded_from(v); }},
    {"tdp_guess", [](PowerTable& t, std::string_view, const Numbers& v) { t.tdp_guess = bounded_from(v); }},
};

bool whole_target(const EndTarget& t, const PowerTable& table) {
  if (t.trees.empty() || table.centres.empty()) return false;
  const std::size_t features = table.centres.front().size(), terms = 1 + features + table.centres.size();
  return t.smooth.size() == terms && t.later.size() == 1 + features &&
         std::ranges::all_of(table.smooth_curve, [&](const auto& weights) { return weights.size() == terms; });
}

}  // namespace

bool FamilyRow::has_curve() const {
  return std::ranges::any_of(curve, [](double v) { return v != 0; });
}

const TypicalHost& PowerTable::host_of(std::string_view family) const {
  const auto at = hosts.find(family);
  return at != hosts.end() ? at->second : hosts.find("")->second;
}

bool PowerTable::whole() const {
  constexpr std::array modes = {"a_priori", "no_tdp", "no_family", "neither", "new_family", "two_points", "three_points"};
  if (!std::ranges::all_of(modes, [&](const char* mode) { return bands.contains(mode); })) return false;
  return whole_target(idle, *this) && whole_target(full, *this) && shape.size() == 9 && smooth_curve.size() == level_count &&
         hosts.contains("") && package.size() == level_count && memory.value > 0 && tdp_guess.value > 0;
}

PowerTable read_power_table(shipped::Lines lines) {
  PowerTable table;
  for (const std::string_view line : lines) {
    const auto f = shipped::fields(line);
    const auto* part = std::ranges::find(parts, f[0], &Part::kind);
    if (part != std::end(parts) && f.size() > 2) part->put(table, f[1], numbers(f));
  }
  return table;
}

}  // namespace joulery
