// Gives the meters that the agent reads to others on the machine, over a UNIX socket (sense/agent/meter_messages.h). A thread of its
// own answers; who asks is known by the kernel's word (SO_PEERCRED), what they get by their scope (meter_scopes.h).
//
// Who asks within the least interval waits for its end, and all connections of one user that wait are told the same reading: so a
// user's runs side by side all have fresh readings. Where that is long, the reading that the user was told last is told again.
//
// Invariant: nobody gets finer or fresher readings through somebody else's, nor by more connections. A client that floods, stalls
// or lies costs its own connection.
#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "app/agent/meter_scopes.h"
#include "app/agent/power_desk.h"
#include "app/agent/shared_meter.h"
#include "core/result.h"
#include "sense/agent/meter_messages.h"
#include "sense/meter.h"

namespace joulery {

// So many at a time, and one more each `period`. A bucket that was never asked is full.
class TokenBucket {
 public:
  TokenBucket(double most, Duration period) : most_(most), period_(period), tokens_(most) {}
  bool take(MonoTime now);
  // When there will be one.
  MonoTime next() const;
  bool full(MonoTime now) const;

 private:
  double tokens_at(MonoTime now) const;
  double most_;
  Duration period_;
  double tokens_;
  MonoTime counted_{};
};

// Devices of the agent that others may read: those that tell energy. Their meters are put behind SharedMeters, in place.
class SharedDevices {
 public:
  void share(std::vector<Device>& devices, Duration interval);
  struct One {
    SharedDevice told;   // as who may read all is told
    SharedMeter* meter;  // owned by the device, which outlives whoever asks
  };
  const std::vector<One>& all() const { return all_; }

 private:
  std::vector<One> all_;
};

class MeterSocket {
 public:
  // `power`: where power limits are asked for, started already, which outlives this; null where nothing is told of them.
  MeterSocket(const SharedDevices& devices, MeterScopes scopes, std::string version, PowerDesk* power = nullptr);
  ~MeterSocket();
  MeterSocket(const MeterSocket&) = delete;
  MeterSocket& operator=(const MeterSocket&) = delete;

  // Makes the socket, for all to connect to; one that nobody listens at any more is replaced. Errors: busy where another listens,
  // usage, permission, io.
  Result<void> listen(const std::string& path);
  // Answers from now on. Errors: io.
  Result<void> start();
  void stop();
  // By any thread: there is an answer to be sent.
  void wake() const;
  const std::string& path() const { return path_; }
  // Takes a connected socket as if it had come by the path; before start().
  void adopt(int descriptor);

 private:
  struct Visitor;
  struct Connection;

  void run();
  int milliseconds_left(MonoTime now) const;
  void accept_all();
  void greet(Connection& connection);
  bool answer(Connection& connection);
  bool ask_the_desk(const MeterHead& request, std::optional<LimitRequest> limit, Connection& connection);
  void give_the_desks_answers();
  std::string answer_to(const MeterHead& request, Connection& connection);
  void read_for(Visitor& visitor, std::size_t device);
  bool waits(const Visitor& visitor, std::size_t device, MonoTime now) const;
  void answer_the_waiting();
  std::vector<DeviceProcess> processes_for(const Visitor& visitor, std::size_t device) const;
  std::vector<Reading> read_now(std::size_t device) const;
  Visitor& visitor_of(const MeterPeer& peer);
  void forget_visitors();

  const SharedDevices& devices_;
  MeterScopes scopes_;
  std::string version_, path_;
  PowerDesk* power_;
  std::uint64_t last_connection_ = 0;
  int listener_ = -1, wake_ = -1;
  std::uint64_t inode_ = 0;
  std::map<std::pair<uid_t, MeterScope>, std::unique_ptr<Visitor>> visitors_;
  std::list<Connection> connections_;
  MonoTime deaf_until_{};
  std::atomic<bool> stopping_ = false;
  std::thread thread_;
};

}  // namespace joulery
