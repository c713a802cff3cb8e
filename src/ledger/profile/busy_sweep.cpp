#include "ledger/profile/busy_sweep.h"

#include <algorithm>
#include <queue>

#include "ledger/profile/cell_key.h"

namespace joulery {
namespace {

enum Rank { working = 0, around = 1, waiting = 2 };

struct Lane {
  std::uint32_t track;
  PieceCursor pieces;
  Worker worker{};
  Rank rank = working;
  bool active = false;
};

void look(Lane& lane) {
  const auto stack = lane.pieces.stack();
  lane.worker = {lane.track, lane.pieces.top_index(), stack.back(), nullptr};
  for (auto event = stack.rbegin(); event != stack.rend() && !lane.worker.op; ++event)
    if ((*event)->kind == EventKind::op) lane.worker.op = *event;
  if (stack.back()->kind == EventKind::sync)
    lane.rank = waiting;
  else
    lane.rank = lane.worker.op || on_device(stack.back()->kind) ? working : around;
}

struct Turn {
  std::int64_t at;
  std::size_t lane;
  friend bool operator>(const Turn& a, const Turn& b) { return a.at > b.at; }
};

}  // namespace

void sweep(const Profile& profile, std::span<const std::uint32_t> tracks,
           const std::function<void(std::int64_t, std::int64_t, std::span<const Worker>)>& visit) {
  std::vector<Lane> lanes;
  std::priority_queue<Turn, std::vector<Turn>, std::greater<>> turns;   // when each lane begins or ends its piece
  for (const std::uint32_t track : tracks) lanes.push_back({track, PieceCursor(profile.tracks[track])});
  for (std::size_t i = 0; i < lanes.size(); ++i)
    if (lanes[i].pieces.next()) turns.push({lanes[i].pieces.begin(), i});
  std::vector<std::size_t> active;
  std::vector<Worker> workers;
  std::int64_t since = 0;
  const auto tell_until = [&](std::int64_t time) {
    if (active.empty() || time <= since) return;
    Rank best = waiting;
    for (const std::size_t i : active) best = std::min(best, lanes[i].rank);
    workers.clear();
    for (const std::size_t i : active)
      if (lanes[i].rank == best) workers.push_back(lanes[i].worker);
    visit(since, time, workers);
  };
  while (!turns.empty()) {
    const Turn turn = turns.top();
    turns.pop();
    tell_until(turn.at);
    since = turn.at;
    Lane& lane = lanes[turn.lane];
    if (lane.active) {
      const std::int64_t ended = lane.pieces.end();
      const bool more = lane.pieces.next();
      if (more && lane.pieces.begin() == ended) {       // the next piece follows at once
        look(lane);
        turns.push({lane.pieces.end(), turn.lane});
        continue;
      }
      lane.active = false;
      std::erase(active, turn.lane);
      if (more) turns.push({lane.pieces.begin(), turn.lane});
    } else {
      lane.active = true;
      active.push_back(turn.lane);
      look(lane);
      turns.push({lane.pieces.end(), turn.lane});
    }
  }
}

}  // namespace joulery
