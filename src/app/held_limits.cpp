#include "app/held_limits.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include "act/guardian.h"
#include "act/power_knobs.h"
#include "app/user_folders.h"

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

}  // namespace

struct HeldLimits::Agent {};

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

std::vector<PowerLimit> all_power_limits(const std::string& sysroot, const Settings&) { return own_power_control(sysroot).list(); }

HeldLimits::HeldLimits() = default;
HeldLimits::~HeldLimits() { (void)release(); }

Result<void> HeldLimits::take_one(const LimitRequest& request, const std::string& sysroot) {
  if (!direct_) direct_.reset(new Direct{own_power_control(sysroot), {}, {}});
  if (!direct_->journal) {
    auto journal = direct_->control.open_journal(fmt::format("joulery run, pid {}", ::getpid()));
    if (!journal) return std::unexpected(journal.error());
    direct_->journal.emplace(*std::move(journal));
    auto guardian = Guardian::start(*direct_->journal, whole_root(sysroot));
    if (!guardian) return std::unexpected(guardian.error());
    direct_->guardian.emplace(*std::move(guardian));
  }
  const auto taken = direct_->control.set(request, *direct_->journal);
  if (!taken) return std::unexpected(taken.error());
  held_.push_back({request.component, *taken, "joulery"});
  return {};
}

Result<std::unique_ptr<HeldLimits>> HeldLimits::take(const std::vector<LimitRequest>& requests, const std::string& sysroot,
                                                     const Settings&) {
  std::unique_ptr<HeldLimits> limits(new HeldLimits());
  for (const LimitRequest& request : requests)
    if (auto taken = limits->take_one(request, sysroot); !taken) return std::unexpected(taken.error());
  return limits;
}

std::vector<std::string> HeldLimits::changed() { return {}; }

std::vector<std::string> HeldLimits::release() {
  std::vector<std::string> lines;
  if (!direct_) return lines;
  std::optional<std::vector<Undone>> undone;
  if (direct_->guardian) undone = direct_->guardian->finish();
  if (!undone && direct_->journal) undone = direct_->control.undo(*direct_->journal);
  direct_.reset();
  for (const Undone& one : undone.value_or(std::vector<Undone>())) lines.push_back(one.text);
  return lines;
}

}  // namespace joulery
