#include "ledger/profile/side_energy.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "ledger/profile/activity.h"

namespace joulery {
namespace {

// The N of "node/gpu/N", "node/accelerator/N"; nothing for other components.
std::optional<int> accelerator_number(const Component& component) {
  const std::string& path = component.path();
  const bool accelerator = path.starts_with("node/gpu/") || path.starts_with("node/tpu/") || path.starts_with("node/accelerator/");
  if (!accelerator) return std::nullopt;
  const std::size_t at = path.find('/', 5) + 1;
  int number = 0;
  const auto [end, error] = std::from_chars(path.data() + at, path.data() + path.size(), number);
  return error == std::errc() ? std::optional(number) : std::nullopt;
}

}  // namespace

void give_rows(const Ledger& ledger, std::vector<ActivitySide>& sides) {
  std::vector<const Row*> accelerators;
  for (const Row& row : ledger.rows()) {
    if (row.overlap || !row.track) continue;
    if (accelerator_number(row.component))
      accelerators.push_back(&row);
    else
      sides.front().rows.push_back(&row);
  }
  if (sides.size() == 2 && accelerators.size() == 1) {
    sides[1].rows.push_back(accelerators.front());
    return;
  }
  for (const Row* row : accelerators) {
    const auto side = std::ranges::find(sides, *accelerator_number(row->component), &ActivitySide::device);
    (side == sides.end() ? sides.front() : *side).rows.push_back(row);
  }
}

SideEnergy::SideEnergy(const std::vector<const Row*>& rows, const TraceClock& clock, std::int64_t begin) : clock_(&clock) {
  const MonoTime from = clock.at(begin);
  const auto add = [&](const Track* track, double sign) { parts_.push_back({Track::Walk(*track, from), sign}); };
  for (const Row* row : rows) {
    add(row->track, 1);
    for (const Track* feed : row->plus) add(feed, 1);
    for (const Track* part : row->minus) add(part, -1);
  }
}

double SideEnergy::joules_until(std::int64_t time) {
  double joules = 0;
  for (Part& part : parts_) joules += part.sign * part.walk.joules(clock_->at(time));
  return joules;
}

}  // namespace joulery
