// One connection to the socket at which an agent gives its meters: asks, waits for the answer no longer than told, and says
// nothing that it did not understand.
//
// Invariant: what cannot be had now is an Error or a MissingReason, within the limit; after one the connection is closed and
// of no more use.
#pragma once

#include <expected>
#include <string>
#include <vector>

#include "config/settings.h"
#include "core/result.h"
#include "sense/agent/limit_messages.h"
#include "sense/agent/meter_messages.h"

namespace joulery {

class MeterConnection {
 public:
  // Connects and hears the hello. Errors: not_found where nobody listens (at once), permission where the agent refuses this
  // user or may not be reached, unsupported where its clock is another, io where it says nothing within `limit`.
  static Result<MeterConnection> open(const std::string& path, Duration limit);
  // Over a connected socket, which it takes.
  static Result<MeterConnection> over(int descriptor, const std::string& path, Duration limit);
  MeterConnection(MeterConnection&& other) noexcept;
  MeterConnection& operator=(MeterConnection&& other) noexcept;
  ~MeterConnection();

  const MeterHello& hello() const { return hello_; }
  int descriptor() const { return descriptor_; }
  bool alive() const { return descriptor_ >= 0; }
  void close();

  template <class T>
  using Answer = std::expected<T, MissingReason>;  // timed_out, gone, rubbish
  Answer<SharedDevice> describe(std::size_t device, Duration limit);
  Answer<std::vector<Reading>> readings(std::size_t device, std::size_t channels, Duration limit);
  Answer<std::vector<DeviceProcess>> processes(std::size_t device, Duration limit);
  // Power limits (an agent of an older version hangs up at these words). What is taken is held until it is given back or the
  // connection ends.
  Answer<std::vector<PowerLimit>> limits(Duration limit);
  Answer<Result<LimitTaken>> take_limit(const LimitRequest& request, Duration limit);
  Answer<std::vector<Undone>> give_back(Duration limit);

 private:
  explicit MeterConnection(int descriptor) : descriptor_(descriptor) {}
  Answer<std::string> receive(MonoTime deadline);
  Answer<std::string> ask(MeterWord word, std::size_t device, Duration limit);
  Answer<std::string> answer_to(const MeterHead& request, const std::string& message, Duration limit);
  std::unexpected<MissingReason> lost(MissingReason reason);

  int descriptor_ = -1;
  std::uint32_t serial_ = 0;
  MeterHello hello_;
};

// Where an agent may give its meters, as agent.meters.socket says, else the usual places; none where it is set to "".
// Errors: usage.
Result<std::vector<std::string>> meter_socket_paths(const Settings& settings);
inline constexpr const char* system_meter_socket = "/run/joulery/meters.sock";
// Below $XDG_RUNTIME_DIR, for an agent that a user runs; "" where there is none.
std::string user_meter_socket();

}  // namespace joulery
