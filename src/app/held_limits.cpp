#include "app/held_limits.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <optional>
#include <utility>

#include "act/guardian.h"
#include "act/power_knobs.h"
#include "app/user_folders.h"
#include "sense/agent/meter_connection.h"

namespace joulery {
namespace {

std::string journal_folder() { return user_state_folder() + "/power"; }

// A tree is known by its whole path, whoever looks at it from wherever.
std::string whole_root(const std::string& sysroot) {
  if (sysroot.empty()) return {};
  std::error_code failed;
  const auto whole = std::filesystem::canonical(sysroot, failed);
  return failed ? sysroot : whole.string();
}

// The first agent that answers here.
std::optional<MeterConnection> reach_agent(const Settings& settings) {
  const auto paths = meter_socket_paths(settings);
  if (!paths) return std::nullopt;
  for (const std::string& path : *paths)
    if (auto connection = MeterConnection::open(path, milliseconds(1000))) return *std::move(connection);
  return std::nullopt;
}

PowerLimit* matching(std::vector<PowerLimit>& limits, const Component& component, const std::string& name) {
  const auto found = std::ranges::find_if(
      limits, [&](const PowerLimit& limit) { return limit.component == component && (name.empty() ? limit.usual : limit.name == name); });
  return found == limits.end() ? nullptr : &*found;
}

PowerLimit with_holder(PowerLimit limit, const std::string& holder) {
  limit.holder = holder;
  return limit;
}

}  // namespace

// What this user may ask of an agent takes no longer than a disk that is busy.
constexpr Duration patience = milliseconds(10'000);

struct HeldLimits::Agent {
  MeterConnection connection;
  std::vector<PowerLimit> limits;  // as told at the beginning
};

struct HeldLimits::Direct {
  PowerControl control;
  std::optional<UndoJournal> journal;
  std::optional<Guardian> guardian;
};

PowerControl own_power_control(const std::string& sysroot) {
  return {find_power_knobs(Machine(sysroot), KnobFile::Access::write), journal_folder(), whole_root(sysroot)};
}

std::vector<Undone> restore_left_limits(const std::string& sysroot) {
  if (!PowerControl::anything_left(journal_folder())) return {};
  return own_power_control(sysroot).recover();
}

std::vector<PowerLimit> all_power_limits(const std::string& sysroot, const Settings& settings) {
  std::vector<PowerLimit> limits = own_power_control(sysroot).list();
  auto agent = sysroot.empty() ? reach_agent(settings) : std::nullopt;
  const auto told = agent ? agent->limits(patience) : std::vector<PowerLimit>();
  if (!told) return limits;
  for (const PowerLimit& theirs : *told) {
    PowerLimit* const ours = matching(limits, theirs.component, theirs.name);
    if (!ours)
      limits.push_back(theirs);
    else if (theirs.settable || !ours->settable || ours->holder.empty())  // what the agent holds is held, whoever may write
      *ours = theirs.settable || !ours->settable ? theirs : with_holder(*ours, theirs.holder);
  }
  return limits;
}

HeldLimits::HeldLimits() = default;
HeldLimits::~HeldLimits() { (void)release(); }

// Nothing where the agent is not there, or does not let this user set this limit: then why not is in `refusal`.
std::optional<Result<LimitTaken>> HeldLimits::ask_the_agent(const LimitRequest& request, Error& refusal) {
  if (!agent_) return std::nullopt;
  const PowerLimit* const limit = matching(agent_->limits, request.component, request.name);
  if (!limit) return std::nullopt;
  if (!limit->settable) {
    refusal = {ErrorCode::permission, limit->reason, "", limit->remedy};
    return std::nullopt;
  }
  auto answer = agent_->connection.take_limit(request, patience);
  if (!answer)
    return fail(ErrorCode::io, "the agent of this node did not answer", limit_address(request.component, request.name),
                "its journal says why: journalctl -u joulery-agent");
  return *std::move(answer);
}

Result<LimitTaken> HeldLimits::set_directly(const LimitRequest& request, const std::string& sysroot) {
  if (!direct_) direct_.reset(new Direct{own_power_control(sysroot), {}, {}});
  if (!direct_->journal) {
    if (const auto possible = direct_->control.check(request); !possible) return std::unexpected(possible.error());
    auto journal = direct_->control.open_journal(fmt::format("joulery run, pid {}", ::getpid()));
    if (!journal) return std::unexpected(journal.error());
    direct_->journal.emplace(*std::move(journal));
    auto guardian = Guardian::start(*direct_->journal, whole_root(sysroot));
    if (!guardian) return std::unexpected(guardian.error());
    direct_->guardian.emplace(*std::move(guardian));
  }
  return direct_->control.set(request, *direct_->journal);
}

Result<void> HeldLimits::take_one(const LimitRequest& request, const std::string& sysroot) {
  Error refusal;
  const auto asked = ask_the_agent(request, refusal);
  const auto taken = asked ? *asked : set_directly(request, sysroot);
  if (!taken) {
    const bool agent_knows_better =
        !refusal.what.empty() && taken.error().code != ErrorCode::usage && taken.error().code != ErrorCode::busy;
    Error error = agent_knows_better ? refusal : taken.error();
    if (agent_knows_better) error.where = limit_address(request.component, request.name);
    return std::unexpected(std::move(error));
  }
  held_.push_back({request.component, *taken, asked ? "agent" : "joulery"});
  return {};
}

Result<std::unique_ptr<HeldLimits>> HeldLimits::take(const std::vector<LimitRequest>& requests, const std::string& sysroot,
                                                     const Settings& settings) {
  std::unique_ptr<HeldLimits> limits(new HeldLimits());
  // An agent gives the limits of this machine, not of a tree.
  if (auto agent = sysroot.empty() ? reach_agent(settings) : std::nullopt) {
    auto told = agent->limits(patience);
    if (told) limits->agent_.reset(new Agent{*std::move(agent), *std::move(told)});
  }
  for (const LimitRequest& request : requests)
    if (auto taken = limits->take_one(request, sysroot); !taken) return std::unexpected(taken.error());
  return limits;
}

std::vector<std::string> HeldLimits::changed() {
  std::vector<PowerLimit> by_agent, own;
  const bool asks_agent = std::ranges::any_of(held_, [](const HeldLimit& one) { return one.by == "agent"; });
  if (direct_) own = direct_->control.list();
  std::string agent_gone;
  if (asks_agent) {
    auto told = agent_->connection.limits(patience);
    if (told)
      by_agent = *std::move(told);
    else
      agent_gone = "the agent that held it went away before the end";
  }
  std::vector<std::string> all;
  for (const HeldLimit& one : held_) {
    const bool theirs = one.by == "agent";
    const PowerLimit* const now = matching(theirs ? by_agent : own, one.component, one.taken.name);
    std::string what = theirs ? agent_gone : "";
    if (what.empty() && (!now || !now->now_uw)) what = "it could not be read any more at the end";
    if (what.empty() && *now->now_uw != one.taken.took_uw) what = "somebody else set it to " + watts_text(*now->now_uw) + " before the end";
    if (what.empty() && !now->in_force) what = "somebody else switched it off before the end";
    all.push_back(std::move(what));
  }
  return all;
}

std::vector<std::string> HeldLimits::release() {
  std::vector<Undone> undone;
  if (direct_) {
    std::optional<std::vector<Undone>> by_guardian;
    if (direct_->guardian) by_guardian = direct_->guardian->finish();
    if (by_guardian)
      undone = *std::move(by_guardian);
    else if (direct_->journal)
      undone = direct_->control.undo(*direct_->journal);
    direct_.reset();
  }
  if (agent_ && std::ranges::any_of(held_, [](const HeldLimit& one) { return one.by == "agent"; })) {
    auto told = agent_->connection.give_back(patience);
    if (told)
      std::ranges::move(*told, std::back_inserter(undone));
    else
      undone.push_back({false, false, "the agent went away: it puts power limits back when it starts again"});
  }
  agent_.reset();
  held_.clear();
  std::vector<std::string> lines;
  for (const Undone& one : undone)
    if (!one.as_before) lines.push_back(one.text);
  return lines;
}

}  // namespace joulery
