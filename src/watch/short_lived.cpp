#include "watch/short_lived.h"

#include <algorithm>

namespace joulery {

bool ShortLived::is_member(const CpuUse& use, const ProcessTree& tree) const {
  if (const auto own = members_.find(use.id.pid); own != members_.end() && (own->second == use.id.start_ticks || own->second == 0))
    return true;
  return members_.contains(use.parent) || tree.knows(use.id) || tree.holds(use.parent);
}

void ShortLived::take(const CpuUses& uses, ProcessTree& tree) {
  ++look_;
  std::vector<const CpuUse*> left;
  for (const CpuUse& use : uses.processes) left.push_back(&use);
  for (bool more = true; more;) {  // a child may stand before its parent
    const auto strangers = std::ranges::partition(left, [&](const CpuUse* use) { return !is_member(*use, tree); });
    for (const CpuUse* use : strangers) {
      members_[use->id.pid] = use->id.start_ticks;
      Found& found = found_[use->id];
      found.name = use->name;
      found.cpu += use->cpu;
      found.ended = found.ended || use->ended;
      found.look = look_;
    }
    more = !strangers.empty();
    left.erase(strangers.begin(), strangers.end());
  }
  fold(tree, false);
}

void ShortLived::finish(ProcessTree& tree) { fold(tree, true); }

void ShortLived::fold(ProcessTree& tree, bool all) {
  for (auto at = found_.begin(); at != found_.end();) {
    const auto& [id, found] = *at;
    if (!found.ended || (!all && found.look == look_)) {
      ++at;
      continue;
    }
    if (tree.knows(id)) {
      if (id.start_ticks > since_ticks_) tree.complete(id, found.cpu);
    } else {
      ShortLivedSum& sum = sums_[found.name];
      sum.name = found.name;
      ++sum.count;
      sum.cpu += found.cpu;
    }
    if (const auto member = members_.find(id.pid); member != members_.end() && member->second == id.start_ticks) members_.erase(member);
    at = found_.erase(at);
  }
}

std::vector<ShortLivedSum> ShortLived::by_name(std::size_t most) const {
  std::vector<ShortLivedSum> sums;
  for (const auto& [name, sum] : sums_) sums.push_back(sum);
  std::ranges::stable_sort(sums, std::ranges::greater{}, &ShortLivedSum::cpu);
  sums.resize(std::min(most, sums.size()));
  return sums;
}

}  // namespace joulery
