// How the monotonic clock of one host lies on that of a job of several hosts: a straight line. A job's recording holds the times
// of each host moved by a whole number of microseconds already (so that nothing is rounded twice); what is left is the drift.
#pragma once

#include <cmath>

#include "core/time.h"

namespace joulery {

struct HostClock {
  MonoTime at;       // where both say the same
  double drift = 0;  // by how much the job's clock runs faster: 1e-6 is a microsecond a second
  MonoTime on_job(MonoTime t) const { return t + nanoseconds(std::llround(drift * static_cast<double>((t - at).base_units()))); }
  Interval on_job(Interval when) const { return {on_job(when.begin), on_job(when.end)}; }
};

}  // namespace joulery
