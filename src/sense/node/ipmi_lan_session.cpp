#include "sense/node/ipmi_lan_session.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "core/time.h"
#include "core/units.h"
#include "sense/remote/keep_from_children.h"

namespace joulery {
namespace {

constexpr unsigned open_session_privilege = 0x10;  // a workaround: ask for the privilege while the session opens, as some controllers want
constexpr unsigned flags = 0;
constexpr unsigned least_retransmission_ms = 200;

struct Known {
  FreeipmiError error;
  MissingReason reason;
  std::string_view what, remedy;
};

constexpr std::string_view look_at_user =
    "ipmitool -I lanplus -H HOST -U USER user list 1  # which users the controller knows, and their privileges";
constexpr Known known_errors[] = {
    {FreeipmiError::permission, MissingReason::permission, "the controller refuses this user", look_at_user},
    {FreeipmiError::username, MissingReason::permission, "the controller does not know the user", look_at_user},
    {FreeipmiError::password, MissingReason::permission, "wrong password, or a user that the controller does not know", ""},
    {FreeipmiError::password_timeout, MissingReason::permission, "wrong password: the controller stopped answering while it was checked",
     ""},
    {FreeipmiError::privilege_insufficient, MissingReason::permission, "the user's privilege level is not high enough", look_at_user},
    {FreeipmiError::privilege_not_obtained, MissingReason::permission, "the user may not have the privilege level that was asked for",
     look_at_user},
    {FreeipmiError::authentication_type, MissingReason::permission, "the controller offers no way to log in that is supported", ""},
    {FreeipmiError::cipher_suite, MissingReason::not_supported, "the controller does not offer this cipher suite",
     "set cipher_suite = 17 in the meter's section  # newer controllers; older ones know 3"},
    {FreeipmiError::no_version_2, MissingReason::not_supported, "the controller does not speak IPMI 2.0 over the network", ""},
    {FreeipmiError::connection_timeout, MissingReason::timed_out, "no answer", "ping HOST  # IPMI over LAN must be switched on too"},
    {FreeipmiError::session_timeout, MissingReason::timed_out, "the session ended without an answer", ""},
    {FreeipmiError::message_timeout, MissingReason::timed_out, "no answer to a message", ""},
    {FreeipmiError::bmc_busy, MissingReason::timed_out, "the controller is busy", ""},
    {FreeipmiError::hostname, MissingReason::gone, "the host's name is not known", ""},
};

Trouble trouble_of(int error, const IpmiLanPlace& place, Duration limit) {
  for (const Known& known : known_errors)
    if (static_cast<int>(known.error) == error) {
      const std::string within = known.error == FreeipmiError::connection_timeout ? " in " + to_text(limit) : "";
      return {known.reason, fmt::format("{}: {}{}", place.host, known.what, within), std::string(known.remedy)};
    }
  return {MissingReason::io_error, fmt::format("{}: FreeIPMI error {}", place.host, error)};
}

class LanSession final : public IpmiTransport {
 public:
  LanSession(const FreeipmiApi& api, IpmiLanPlace place) : api_(api), place_(std::move(place)) {}
  LanSession(const LanSession&) = delete;
  LanSession& operator=(const LanSession&) = delete;
  ~LanSession() override { drop(); }

  Answer<IpmiReply> exchange(const IpmiRequest& request, Duration limit) override {
    const bool was_open = context_ != nullptr;
    const MonoTime begin = mono_now();
    auto reply = try_exchange(request, limit);
    // A session that nothing was heard from for the time limit has ended, and says so at once: that is no failure of the controller.
    const bool ended =
        !reply && reply.error().reason == MissingReason::timed_out && mono_now() - begin < nanoseconds(limit_.base_units() / 2);
    return was_open && ended ? try_exchange(request, limit) : std::move(reply);
  }

 private:
  Answer<IpmiReply> try_exchange(const IpmiRequest& request, Duration limit) {
    if (const auto opened = open(limit); !opened) return std::unexpected(opened.error());
    std::vector<std::uint8_t> message{request.command};
    message.insert(message.end(), request.data.begin(), request.data.end());
    std::array<std::uint8_t, 512> reply{};
    const int length =
        api_.raw(context_, request.lun, request.net_fn, message.data(), static_cast<unsigned>(message.size()), reply.data(), reply.size());
    if (length < 0) {
      const Trouble trouble = trouble_of(api_.error_number(context_), place_, limit_);
      drop();
      return std::unexpected(trouble);
    }
    if (length < 2) return std::unexpected(Trouble{MissingReason::rubbish, place_.host + ": an answer without a completion code"});
    return IpmiReply{reply[1], {reply.begin() + 2, reply.begin() + std::min<std::ptrdiff_t>(length, reply.size())}};
  }

  Answer<void> open(Duration limit) {
    // The library fixes the limit as it opens: a session that was opened in a hurry is not kept for long.
    if (context_ && limit.base_units() >= 2 * limit_.base_units()) drop();
    if (context_) return {};
    limit_ = limit;
    int error = try_open(0);
    if (error == static_cast<int>(FreeipmiError::privilege_not_obtained)) error = try_open(open_session_privilege);
    if (error != 0) return std::unexpected(trouble_of(error, place_, limit_));
    return {};
  }

  // 0, or FreeIPMI's error number.
  int try_open(unsigned workarounds) {
    context_ = api_.create();
    if (!context_) return -1;
    const unsigned limit_ms = static_cast<unsigned>(std::clamp<std::int64_t>(limit_.base_units() / 1'000'000, 100, 60'000));
    const unsigned again = std::max(least_retransmission_ms, limit_ms / 5);
    const KeepFromChildren keep;
    if (api_.open_lan(context_, place_.host.c_str(), place_.user.empty() ? nullptr : place_.user.c_str(), place_.password.reveal(), nullptr,
                      0, place_.privilege, place_.cipher_suite, std::max(limit_ms, again + 1), again, workarounds, flags) >= 0)
      return 0;
    const int error = api_.error_number(context_);
    api_.destroy(std::exchange(context_, nullptr));
    return error == 0 ? -1 : error;
  }

  void drop() {
    if (!context_) return;
    api_.close(context_);
    api_.destroy(std::exchange(context_, nullptr));
  }

  FreeipmiApi api_;
  IpmiLanPlace place_;
  Duration limit_;
  FreeipmiApi::Context context_ = nullptr;
};

}  // namespace

std::unique_ptr<IpmiTransport> make_ipmi_lan_session(const FreeipmiApi& api, IpmiLanPlace place) {
  return std::make_unique<LanSession>(api, std::move(place));
}

}  // namespace joulery
