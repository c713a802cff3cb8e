#include "app/agent/power_desk.h"

#include <fmt/format.h>

#include <csignal>
#include <system_error>
#include <utility>

#include "app/agent/meter_scopes.h"
#include "core/time.h"

namespace joulery {
namespace {

constexpr Duration list_lasts = milliseconds(250);  // whoever asks faster is told the same again
constexpr std::size_t most_changes = 20;            // of one user within
constexpr Duration changes_period = milliseconds(20'000);

std::string who(const PowerClient& client) { return fmt::format("user {}, pid {}", user_name(client.user), client.process); }

Error not_named(const PowerClient& client) {
  return {ErrorCode::permission, fmt::format("user {} may not set power limits through this agent", user_name(client.user)),
          "agent.meters.control_power",
          fmt::format("sudoedit /etc/joulery/joulery.toml  # below [agent.meters]: control_power = [{}\"{}\"]\n"
                      "sudo systemctl restart joulery-agent",
                      client.user == 0 ? "" : "\"root\", ", user_name(client.user))};
}

}  // namespace

void PowerDesk::recover() { tell(control_.recover(), "left by an agent that was killed"); }

void PowerDesk::tell(const std::vector<Undone>& undone, const std::string& why) {
  for (const Undone& one : undone) log_(fmt::format("power: {} ({})", one.text, why));
}

Result<void> PowerDesk::start(std::function<void()> wake) {
  wake_ = std::move(wake);
  try {
    thread_ = std::thread([this] { run(); });
  } catch (const std::system_error& error) { return fail(ErrorCode::io, std::string("cannot start a thread: ") + error.what()); }
  return {};
}

void PowerDesk::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  more_.notify_one();
  if (thread_.joinable()) thread_.join();
  while (!leases_.empty()) (void)give_back(leases_.begin()->first);
}

void PowerDesk::ask(PowerClient client, const MeterHead& head, std::optional<LimitRequest> request) {
  {
    const std::lock_guard lock(mutex_);
    jobs_.push_back({client, head, std::move(request)});
  }
  more_.notify_one();
}

void PowerDesk::gone(std::uint64_t connection) {
  {
    const std::lock_guard lock(mutex_);
    jobs_.push_back({{connection, 0, 0, false}, std::nullopt, std::nullopt});
  }
  more_.notify_one();
}

std::vector<PowerDesk::Answer> PowerDesk::answers() {
  const std::lock_guard lock(mutex_);
  return std::exchange(answers_, {});
}

void PowerDesk::run() {
  sigset_t every;
  ::sigfillset(&every);
  ::pthread_sigmask(SIG_BLOCK, &every, nullptr);
  for (;;) {
    Job job;
    {
      std::unique_lock lock(mutex_);
      more_.wait(lock, [&] { return stopping_ || !jobs_.empty(); });
      if (jobs_.empty()) return;
      job = std::move(jobs_.front());
      jobs_.pop_front();
    }
    if (!job.head) {
      (void)give_back(job.client.connection);
      continue;
    }
    std::string message = work(job);
    {
      const std::lock_guard lock(mutex_);
      answers_.push_back({job.client.connection, std::move(message)});
    }
    wake_();
  }
}

std::string PowerDesk::work(const Job& job) {
  switch (job.head->word) {
    case MeterWord::limit: return to_message(*job.head, take(job.client, *job.request));
    case MeterWord::give_back: return to_message(*job.head, give_back(job.client.connection));
    default: return to_message(*job.head, limits_for(job.client));
  }
}

std::vector<PowerLimit> PowerDesk::limits_for(const PowerClient& client) {
  const MonoTime now = mono_now();
  if (listed_at_ == MonoTime{} || now - listed_at_ > list_lasts) {
    listed_ = control_.list();
    listed_at_ = now;
  }
  std::vector<PowerLimit> limits = listed_;
  if (client.may_control) return limits;
  const Error why = not_named(client);
  for (PowerLimit& limit : limits) {
    if (!limit.settable) continue;  // then nobody may, and why is told
    limit.settable = false;
    limit.reason = why.what + ": " + why.where + " names others";
    limit.remedy = why.hint;
  }
  return limits;
}

bool PowerDesk::too_many_changes(uid_t user) {
  const MonoTime now = mono_now();
  for (auto& [one, times] : changes_) std::erase_if(times, [&](MonoTime at) { return now - at > changes_period; });
  std::erase_if(changes_, [](const auto& entry) { return entry.second.empty(); });
  std::deque<MonoTime>& times = changes_[user];
  if (times.size() >= most_changes) return true;
  times.push_back(now);
  return false;
}

Result<LimitTaken> PowerDesk::take(const PowerClient& client, const LimitRequest& request) {
  const std::string address = limit_address(request.component, request.name);
  const bool too_many = too_many_changes(client.user);  // refusals count too: nobody fills the log
  if (!client.may_control) {
    if (!too_many) log_(fmt::format("power: {}: refused {} to {}", address, watts_text(request.microwatts), who(client)));
    return std::unexpected(not_named(client));
  }
  if (too_many)
    return fail(ErrorCode::busy, "too many changes of power limits", address,
                fmt::format("a user may make {} in {:.0f} s", most_changes, to_seconds(changes_period)));
  tell(control_.recover(), "left from before");  // what could not be put back then
  auto lease = leases_.find(client.connection);
  if (lease == leases_.end()) {
    auto journal = control_.open_journal(who(client));
    if (!journal) return std::unexpected(journal.error());
    lease = leases_.emplace(client.connection, *std::move(journal)).first;
  }
  auto taken = control_.set(request, lease->second);
  listed_at_ = {};
  if (taken)
    log_(fmt::format("power: {}: {} -> {} (asked {}, by {})", limit_address(request.component, taken->name), watts_text(taken->before_uw),
                     watts_text(taken->took_uw), watts_text(taken->asked_uw), who(client)));
  else
    log_(fmt::format("power: {}: not set to {} for {}: {}", address, watts_text(request.microwatts), who(client), taken.error().line()));
  return taken;
}

std::vector<Undone> PowerDesk::give_back(std::uint64_t connection) {
  const auto lease = leases_.find(connection);
  if (lease == leases_.end()) return {};
  std::vector<Undone> undone = control_.undo(lease->second);
  const auto text = lease->second.read();
  tell(undone, text ? text->holder + " has ended" : "its holder has ended");
  leases_.erase(lease);
  listed_at_ = {};
  return undone;
}

}  // namespace joulery
