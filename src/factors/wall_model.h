// What the wall delivers for what the parts of a machine take: learnt from a recording in which a wall meter stood beside
// the meters of the parts, kept as a file, and used on machines of the same kind without a wall meter.
//
// watts at the wall = fixed + slope * P + bend * P², P the sum of the measured parts. The loss of a power supply is a
// fixed part, one in proportion and one that grows with the square of its load; fans, board and disks are in `fixed`.
//
// Invariant: a model is used on its own kind of machine alone; what it says of a wall is derived and has an interval.
#pragma once

#include <array>
#include <map>
#include <string>
#include <string_view>

#include "core/cpu_identity.h"
#include "core/machine_kind.h"
#include "core/quantity.h"
#include "core/result.h"

namespace joulery {

// On which kind of machine a model holds, and which measured parts it starts from.
struct WallKind {
  std::string cpu;                        // model name
  int sockets = 0;
  std::string board;
  std::vector<std::string> accelerators;
  std::map<std::string, int> inputs;      // "node/cpu" -> 2: how many measured parts of each sort
  friend bool operator==(const WallKind&, const WallKind&) = default;
};

WallKind wall_kind(const CpuIdentity& cpu, const MachineKind& machine, std::map<std::string, int> inputs);

// Why a model of kind `learnt` says nothing about `here`: "" where it does.
std::string kind_difference(const WallKind& learnt, const WallKind& here);

struct WallModel {
  WallKind kind;
  std::array<double, 3> coefficients{};                    // fixed W, slope, bend 1/W
  std::array<std::array<double, 3>, 3> covariance{};
  double stretch_error = 0;                                // cross-validated: what does not average out, share of the value
  double mean_error = 0;                                   // cross-validated mean error of a second or so, share of the value
  double meter_error = 0;                                  // the wall meter's own: half of a 90 % interval, share of the value
  Power least, most;                                       // range of P that it was learnt in
  std::int64_t values = 0;                                 // how many means of how long it was learnt from
  Duration window;
  std::string source;                                      // recording and meter

  Power at(Power parts) const;
  // Half of the 90 % interval of the wall's power at `parts`, from the coefficients, the cross-validation and the meter;
  // these are errors of the model, the same from second to second.
  Power half_interval(Power parts) const;
};

// The file's text as TOML and back. Errors: `format`, naming file and key.
std::string wall_model_text(const WallModel& model);
Result<WallModel> parse_wall_model(std::string_view text, const std::string& where);

// `not_found` where there is none.
Result<WallModel> read_wall_model(const std::string& path);
// Whole or not at all; folders on the way are made.
Result<void> write_wall_model(const std::string& path, const WallModel& model);

}  // namespace joulery
