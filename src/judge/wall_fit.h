// Learns what the wall delivers for what the parts take, from a recording in which both were measured. Pure.
//
// The wall is aligned by its meter's delay, both are averaged over windows, and a line or a parabola is fitted robustly
// (robust_fit.h). The parabola is taken only where it predicts stretches that it has not seen clearly better, its bend is
// beyond three standard errors, and the wall still grows with the parts everywhere.
#pragma once

#include <string>

#include "factors/wall_model.h"
#include "judge/delay.h"
#include "judge/make_report.h"
#include "judge/robust_fit.h"

namespace joulery {

struct WallFit {
  WallModel model;
  RobustFit fit;
  DelayEstimate delay;
};

// `source` names the recording, for reports. Errors: unsupported, where the recording has no meter of the wall or of no
// part; format, where the load changes too little or too seldom, or the wall does not follow the parts.
Result<WallFit> fit_wall(const RunRecord& run, const std::string& source);

}  // namespace joulery
