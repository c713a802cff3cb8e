// Power limits that are held for as long as this process wants them: through the agent of this node where it lets this user, else
// directly where this process may write them.
//
// Invariant: whatever becomes of this process, the limits are put back: by the agent when the connection ends, or by a guardian
// (act/guardian.h), and by whoever looks next where that was killed too.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "act/power_control.h"
#include "config/settings.h"
#include "core/result.h"
#include "sense/agent/power_limit.h"

namespace joulery {

struct HeldLimit {
  Component component;
  LimitTaken taken;
  std::string by;  // "agent", "joulery"
};

class HeldLimits {
 public:
  // Sets them all, or none. Errors: those of PowerControl::set().
  static Result<std::unique_ptr<HeldLimits>> take(const std::vector<LimitRequest>& requests, const std::string& sysroot,
                                                  const Settings& settings);
  ~HeldLimits();
  const std::vector<HeldLimit>& held() const { return held_; }
  // For each of them: what became of it since it was taken, "" where it is as it was: somebody else changed it, the agent went away.
  std::vector<std::string> changed();
  // Puts them back; tells what could not be, or was left alone.
  std::vector<std::string> release();

 private:
  struct Agent;
  struct Direct;
  HeldLimits();
  std::optional<Result<LimitTaken>> ask_the_agent(const LimitRequest& request, Error& refusal);
  Result<LimitTaken> set_directly(const LimitRequest& request, const std::string& sysroot);
  Result<void> take_one(const LimitRequest& request, const std::string& sysroot);

  std::unique_ptr<Agent> agent_;
  std::unique_ptr<Direct> direct_;
  std::vector<HeldLimit> held_;
};

// The limits that this process itself sees and may set, with journals in the user's state folder.
PowerControl own_power_control(const std::string& sysroot);
// Undoes what runs left that were killed together with their guardians.
std::vector<Undone> restore_left_limits(const std::string& sysroot);
// Of this process and of the agent, each limit once: as it may be set, where one of the two may.
std::vector<PowerLimit> all_power_limits(const std::string& sysroot, const Settings& settings);

}  // namespace joulery
