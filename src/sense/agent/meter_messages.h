// What an agent and those who read its meters say to each other, message by message over a UNIX socket that keeps their borders
// (SOCK_SEQPACKET). The client asks, the agent answers each request once, and says hello first, unasked.
//
//   hello      who may read what here, or why not; JSON, schema joulery.meters/1
//   describe   one device: its kind, its name, its channels; JSON
//   readings   one round of one device; binary, in the byte order of the machine that both are on
//   processes  who uses the device; binary
//   limits     the power limits of the machine; JSON (sense/agent/limit_messages.h, as the two that follow)
//   limit      sets one for as long as the connection lives; the request holds JSON too
//   give_back  puts back what this connection has set; JSON
//
// Invariant: neither side trusts a byte of the other's: what does not parse is nothing, never half a message.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sense/channel.h"
#include "sense/device_process.h"
#include "sense/reading.h"

namespace joulery {

inline constexpr std::size_t longest_meter_message = 128 * 1024;  // a socket takes so much without being told
inline constexpr std::size_t most_shared_devices = 1024;

enum class MeterWord : std::uint16_t { hello, describe, readings, processes, limits, limit, give_back };

// A request, and the head of each answer, which repeats what it answers.
struct MeterHead {
  MeterWord word = MeterWord::hello;
  std::uint16_t device = 0;
  std::uint32_t serial = 0;  // the client's own count, so that a late answer is not taken for the next
  friend bool operator==(const MeterHead&, const MeterHead&) = default;
};

struct MeterHello {
  std::string version;          // of the agent
  MonoTime now;                 // the agent's clock: where a client's differs, their times do not mix
  std::string scope;            // "read_own", "read_all"; "" where refused
  std::string refused;          // why nothing may be read; "" where something may
  Duration least_interval{};    // more often tells nothing new; 0: as often as one likes
  std::size_t devices = 0;
  bool controls = false;        // may set power limits
};

struct SharedDevice {
  std::string kind, name;
  bool slow = false;
  Duration least_interval{};    // for this reader
  std::vector<std::string> remarks;
  std::vector<Channel> channels;
  friend bool operator==(const SharedDevice&, const SharedDevice&) = default;
};

// A message as a socket sends it. A head with what follows it.
std::string to_message(const MeterHead& request);
std::string to_message(const MeterHead& head, const MeterHello& hello);
std::string to_message(const MeterHead& head, const SharedDevice& device);
std::string to_message(const MeterHead& head, std::span<const Reading> readings);
std::string to_message(const MeterHead& head, std::span<const DeviceProcess> processes);

// Nothing where the message is none of that kind. A request is a head and nothing else, but for `limit`.
std::optional<MeterHead> parse_meter_head(std::string_view message);
std::optional<MeterHead> parse_meter_request(std::string_view message);
std::optional<MeterHello> parse_meter_hello(std::string_view message);
// Also nothing for a device that breaks what meters promise: no channel, two of one name, a unit that is no number above 0.
std::optional<SharedDevice> parse_shared_device(std::string_view message);
// Also nothing where there are not `channels` readings, or one has a reason that is not known or ends before it begins.
std::optional<std::vector<Reading>> parse_shared_readings(std::string_view message, std::size_t channels);
std::optional<std::vector<DeviceProcess>> parse_shared_processes(std::string_view message);

}  // namespace joulery
