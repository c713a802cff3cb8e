// What a node's energy of some time was used for, from the agent's store: `joulery report --from … --to … --by team,job`.
//
// Invariant: the rows, idle and unattributed sum to the total, and the total is that of the components, to the count of the
// store. What the rows leave over is "unattributed", never spread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "core/time.h"
#include "factors/factor_config.h"
#include "record/store/store_reader.h"

namespace joulery {

struct StoreBillRow {
  std::vector<std::string> keys;  // beside StoreBill::by
  Energy energy;
};

struct StoreBill {
  WallTime from, to;
  std::vector<std::string> by;
  std::string kind;                // whose consumers the rows add up; "" where each kind is a row
  std::vector<StoreBillRow> rows;  // the greatest first
  Energy idle, unattributed, total;
  bool idle_known = false;  // else no static power was learnt in this time: idle is then in nobody's line, not nothing
  std::optional<Energy> estimated;  // the part of the total that is not measured, where there is any
  Duration covered, missing;       // of [from, to): stored, and not
  std::vector<std::string> notes;
  CarbonFactor carbon;
  std::optional<Tariff> tariff;

  double grams(Energy energy) const { return to_grams(site_energy(energy, carbon.pue) * carbon.intensity); }
  std::optional<double> cost(Energy energy) const {
    if (!tariff) return std::nullopt;
    return to_units(site_energy(energy, carbon.pue) * tariff->price);
  }
};

// `kind`: "" chooses: where `by` is one kind of consumer, that kind, else process, whose labels name all others. A consumer without a label is "(none)".
// Errors: as StoreReader::query; usage, for a kind that does not exist; not_found, where the time holds no components.
Result<StoreBill> bill_from_store(const StoreReader& reader, WallTime from, WallTime to, std::vector<std::string> by,
                                  const std::string& kind, const FactorConfig& factors);

std::string bill_text(const StoreBill& bill);
std::string bill_csv(const StoreBill& bill);
std::string bill_json(const StoreBill& bill);

}  // namespace joulery
