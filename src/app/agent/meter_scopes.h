// Who may read which of the agent's meters, and how finely.
//
//   read_all  exactly, and as often as they like
//   read_own  rounded (counters to whole 10 mJ, powers to 0.1 W), each device at most every least_interval, and of the processes
//             that use a device their own alone. Finer readings give away what other users' programs compute (PLATYPUS, Lipp et al.,
//             2021; publish/rounded_account.h).
//   control   sets power limits (control_power, default: root), and reads at least as read_own does
//   nobody    is refused, and told why
#pragma once

#include <sys/types.h>

#include <span>
#include <string>
#include <vector>

#include "config/settings.h"
#include "core/result.h"
#include "sense/channel.h"
#include "sense/reading.h"

namespace joulery {

enum class MeterScope : std::uint8_t { refused, read_own, read_all };
std::string_view name_of(MeterScope scope);  // as configured: "read_own"

// Who is at the other end of a UNIX socket, as the kernel tells.
struct MeterPeer {
  uid_t user = static_cast<uid_t>(-1);
  std::vector<gid_t> groups;  // its own and those beside
  pid_t process = 0;          // that connected
};
Result<MeterPeer> peer_of(int descriptor);

class MeterScopes {
 public:
  // From agent.meters.read_own, .read_all, .control_power and .least_interval. A name that this machine does not know lets nobody in and is a
  // warning. Errors: usage.
  static Result<MeterScopes> from(const Settings& settings, std::vector<std::string>& warnings);

  MeterScope of(const MeterPeer& peer) const;
  bool may_control(const MeterPeer& peer) const { return control_.holds(peer); }
  // False where the configuration names nobody: then nothing needs to be opened for writing.
  bool anybody_controls() const { return control_.everyone || !control_.users.empty() || !control_.groups.empty(); }
  Duration least_interval(MeterScope scope) const { return scope == MeterScope::read_all ? Duration{} : least_interval_; }
  std::string refusal(const MeterPeer& peer) const;

 private:
  struct Who {
    bool everyone = false;
    std::vector<uid_t> users;
    std::vector<gid_t> groups;
    bool holds(const MeterPeer& peer) const;
  };
  static Result<Who> who(const Settings& settings, const char* key, const std::vector<std::string>& fallback,
                         std::vector<std::string>& warnings);
  Who own_, all_, control_;
  Duration least_interval_ = milliseconds(100);
};

// "ada", "1000" where it has no name here.
std::string user_name(uid_t user);

// A channel as a reader of this scope is told of it: what rounding adds to its error with it.
Channel channel_in(MeterScope scope, Channel channel);
// Rounds in place what `scope` may not know finer.
void round_readings(MeterScope scope, std::span<const Channel> channels, std::span<Reading> readings);

}  // namespace joulery
