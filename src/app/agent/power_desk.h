// Where the agent's clients ask for power limits. A thread of its own works them off one by one, so that a driver that takes its
// time, or a disk, holds up nobody who reads meters.
//
// A limit belongs to the connection that asked for it and excludes others while it lasts; when the connection ends, or the agent,
// it is put back. Every change is a line of the agent's log.
//
// Invariant: at most one question of a connection is here at a time (the socket asks for no more before it is answered).
#pragma once

#include <sys/types.h>

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "act/power_control.h"
#include "core/result.h"
#include "sense/agent/limit_messages.h"

namespace joulery {

// Who asks, by the kernel's word.
struct PowerClient {
  std::uint64_t connection = 0;
  uid_t user = 0;
  pid_t process = 0;
  bool may_control = false;
};

class PowerDesk {
 public:
  using Log = std::function<void(const std::string&)>;
  PowerDesk(PowerControl control, Log log) : control_(std::move(control)), log_(std::move(log)) {}
  ~PowerDesk() { stop(); }
  PowerDesk(const PowerDesk&) = delete;
  PowerDesk& operator=(const PowerDesk&) = delete;

  // Puts back what a killed agent has left; before start().
  void recover();
  // `wake`: called by the desk's thread when an answer is there; must not call back. Errors: io.
  Result<void> start(std::function<void()> wake);
  // Works off what was asked, puts everything back, and ends.
  void stop();

  struct Answer {
    std::uint64_t connection;
    std::string message;
  };
  // `request` where the word is `limit`.
  void ask(PowerClient client, const MeterHead& head, std::optional<LimitRequest> request);
  void gone(std::uint64_t connection);
  std::vector<Answer> answers();

 private:
  struct Job {
    PowerClient client;
    std::optional<MeterHead> head;  // nothing: the connection is gone
    std::optional<LimitRequest> request;
  };

  void run();
  std::string work(const Job& job);
  std::vector<PowerLimit> limits_for(const PowerClient& client);
  Result<LimitTaken> take(const PowerClient& client, const LimitRequest& request);
  std::vector<Undone> give_back(std::uint64_t connection);
  bool too_many_changes(uid_t user);
  void tell(const std::vector<Undone>& undone, const std::string& why);

  // By the desk's thread alone.
  PowerControl control_;
  Log log_;
  std::map<std::uint64_t, UndoJournal> leases_;
  std::map<uid_t, std::deque<MonoTime>> changes_;
  std::vector<PowerLimit> listed_;
  MonoTime listed_at_{};

  std::mutex mutex_;  // over what follows
  std::condition_variable more_;
  std::deque<Job> jobs_;
  std::vector<Answer> answers_;
  bool stopping_ = false;

  std::function<void()> wake_;
  std::thread thread_;
};

}  // namespace joulery
