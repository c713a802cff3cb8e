// The wall of a machine without a wall meter, from its measured parts and the model of a machine of its kind.
//
// Invariant: where a part's energy is lost the wall's is lost too; nothing is filled in.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "factors/wall_model.h"
#include "ledger/ledger.h"

namespace joulery {

// What a wall model starts from: the counted parts with a sensor; where there are none, the node as a whole.
struct WallInputs {
  std::vector<const Row*> rows;
  std::map<std::string, int> sorts;     // "node/cpu" -> 2: they must be the same where a model is learnt and where it is used
};
WallInputs wall_inputs(const Ledger& ledger);

struct DerivedWall {
  std::unique_ptr<const std::vector<MonoTime>> times;  // the track's own
  Track track;
  double outside = 0;                   // share of the time in which the parts took more or less than the model was learnt from
};

// The model followed along the parts' power in steps of the sampling interval. Its interval holds the model's error and
// that of the parts' own meters.
DerivedWall derive_wall(const WallInputs& inputs, const Timeline& timeline, const Ledger& ledger, const WallModel& model);

}  // namespace joulery
