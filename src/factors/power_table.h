// The numbers learnt from SPECpower_ssj2008 results, as data/power_model.csv holds them (scripts/learn_power_model
// writes it; docs/decisions/0003-the-estimate.md tells how and how well it does).
//
// Invariant: a table for which whole() holds has every part that curve evaluation indexes.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "factors/shipped_tables.h"

namespace joulery {

inline constexpr std::size_t level_count = 11;  // utilisation 0, 10 .. 100 %
using Levels = std::array<double, level_count>;

struct RegressionTree {
  std::array<int, 7> feature{};      // -1: all go left
  std::array<double, 7> threshold{};
  std::array<double, 8> leaf{};
};

// One target (log of idle or of full load over total TDP): trees that start from a value, and a smooth regression.
struct EndTarget {
  double start = 0;
  std::vector<RegressionTree> trees;
  std::vector<double> smooth;        // one, features, bumps
  std::vector<double> later;         // one, features less their middle: for families without a curve
  double shift = 0;                  // towards the least mean relative error
};

struct FamilyRow {
  int results = 0, processors = 0;
  double idle_offset = 0, full_offset = 0;
  Levels curve{};
  bool has_curve() const;            // its load levels were measured, not idle and full load alone
};

// Medians of the measured machines of a family: what is assumed where a machine does not say.
struct TypicalHost {
  double tdp = 0, chips = 0, cores_per_chip = 0, threads_per_core = 0, gb_per_core = 0, tdp_per_core = 0;
};

struct BandRow {
  Levels low{}, high{};
};
struct Bounded {
  double value = 0, low = 0, high = 0;
};  // 90 % interval

struct PowerTable {
  EndTarget idle, full;
  double bump_length = 1;
  std::vector<std::vector<double>> centres;
  std::vector<std::vector<double>> smooth_curve;  // by level: one, features, bumps
  std::vector<Levels> shape;                   // by shape feature
  Levels half{};
  std::map<std::string, FamilyRow, std::less<>> families;
  std::map<std::string, TypicalHost, std::less<>> hosts;  // "": of all
  std::map<std::string, BandRow, std::less<>> bands;      // by mode
  std::vector<Bounded> package;                   // watts per TDP, by level
  Bounded memory;                                 // watts per GB
  Bounded tdp_guess;                              // factor on a TDP that was guessed from the cores

  bool whole() const;
  const TypicalHost& host_of(std::string_view family) const;  // of all where the family has none
};

PowerTable read_power_table(shipped::Lines lines);

}  // namespace joulery
