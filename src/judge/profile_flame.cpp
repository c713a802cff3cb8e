#include "judge/profile_flame.h"

#include <algorithm>
#include <map>
#include <span>
#include <vector>

#include "ledger/split.h"
#include "watch/profile/pieces.h"

namespace joulery {
namespace {

using Stack = std::vector<NameId>;

FrameKind kind_of(EventKind kind) {
  switch (kind) {
    case EventKind::op: return FrameKind::operation;
    case EventKind::python: return FrameKind::python;
    case EventKind::module: return FrameKind::module;
    case EventKind::runtime:
    case EventKind::sync: return FrameKind::native;
    case EventKind::kernel:
    case EventKind::copy: return FrameKind::kernel;
    default: return FrameKind::other;
  }
}

// The innermost operator of a stack, else its innermost event: what a line of the account is named by.
NameId line_of(std::span<const ProfileEvent* const> stack) {
  for (std::size_t i = stack.size(); i-- > 0;)
    if (stack[i]->kind == EventKind::op) return stack[i]->name;
  return stack.back()->name;
}

struct HostStacks {
  std::map<std::string_view, std::map<Stack, double>> by_line;  // seconds
  std::map<NameId, FrameKind> kinds;
};

HostStacks host_stacks(const Profile& profile) {
  HostStacks result;
  for (const ProfileTrack& track : profile.tracks) {
    if (track.kind != TrackKind::thread) continue;
    visit_pieces(track, [&](std::int64_t begin, std::int64_t end, std::span<const ProfileEvent* const> stack) {
      if (stack.empty()) return;
      Stack names;
      for (const ProfileEvent* event : stack.first(std::min(stack.size(), Flame::deepest))) {
        names.push_back(event->name);
        result.kinds.try_emplace(event->name, kind_of(event->kind));
      }
      result.by_line[profile.name(line_of(stack))][std::move(names)] += static_cast<double>(end - begin) * 1e-9;
    });
  }
  return result;
}

std::vector<FlamePart> parts_of(const Profile& profile, const HostStacks& stacks, const Stack& names) {
  std::vector<FlamePart> parts;
  for (const NameId name : names) parts.push_back({profile.name(name), stacks.kinds.at(name)});
  return parts;
}

void add_line(Flame& flame, const Profile& profile, const HostStacks& stacks, const OperatorLine& line,
              const std::map<Stack, double>* ran) {
  const Energy energy = line.figures.energy.value_or(Energy{});
  if (ran == nullptr) {
    const FlamePart alone{line.name, FrameKind::operation};
    flame.add({&alone, 1}, energy, to_seconds(line.figures.host + line.figures.device));
    return;
  }
  std::vector<double> times;
  for (const auto& [names, seconds] : *ran) times.push_back(seconds);
  const std::vector<Energy> shares = split(energy, times);
  std::size_t i = 0;
  for (const auto& [names, seconds] : *ran) flame.add(parts_of(profile, stacks, names), shares[i++], seconds);
}

}  // namespace

Flame profile_flame(const Profile& profile, const ProfileAccount& account, std::string title) {
  Flame flame;
  flame.title = std::move(title);
  flame.unit = "s";
  flame.has_energy = account.energy.has_value();
  const HostStacks stacks = host_stacks(profile);
  for (const OperatorLine& line : account.operators) {
    const auto found = stacks.by_line.find(line.name);
    add_line(flame, profile, stacks, line, found == stacks.by_line.end() ? nullptr : &found->second);
  }
  for (const GapLine& gap : account.gaps) {
    const std::string name = gap.device < 0 ? "(host idle)" : "(device " + std::to_string(gap.device) + " idle)";
    const FlamePart part{name, FrameKind::other};
    if (gap.energy) flame.add({&part, 1}, *gap.energy, to_seconds(gap.time));
  }
  if (!flame.has_energy) flame.notes.emplace_back("no recording: the graph is of time alone");
  return flame;
}

}  // namespace joulery
