// The fields of one GPU that are read by one call of nvmlDeviceGetFieldValues a round, and the channels they become.
//
// A quantity may be told by several fields, newer and older ones, and of another scope: the first that answers is taken. On a
// module of CPU and GPU (Grace Hopper) the plain energy counter is that of the whole module: it is then given as the module's,
// with the scope of a platform, so that it is never added to the GPU's own power.
//
// Invariant: after probing, values() gives one value or one reason per channel, in the order of channels().
#pragma once

#include <expected>
#include <vector>

#include "sense/channel.h"
#include "sense/nvidia/nvml_api.h"
#include "sense/nvidia/power_sensor.h"
#include "sense/reading.h"

namespace joulery {

// What the channels of one GPU have in common.
struct GpuFacts {
  Component component;  // node/gpu/N
  Component module;     // node/module/N: of the CPU and GPU together, where they are one
  GpuGeneration generation;
  Power max_power;
};

// The return code as the reason of a missing reading.
MissingReason reason_of(NvmlReturn code);
// True where the code says that this will never be answered on this GPU and driver.
bool is_absent(NvmlReturn code);
// True where the GPU itself does not answer any more.
bool is_lost(NvmlReturn code);

// A channel of energy or power with what is known of the sensor.
Channel burning_channel(const GpuFacts& facts, std::string name, Measurand measurand, PowerReading reading);
Channel plain_channel(Component component, std::string name, Measurand measurand, Behaviour behaviour, double unit);

class NvmlFields {
 public:
  NvmlFields() = default;
  // Asks for every field once and keeps those that answer. The device is held by the caller.
  NvmlFields(const NvmlApi& api, NvmlApi::Device device, const GpuFacts& facts);

  const std::vector<Channel>& channels() const { return channels_; }
  bool has(std::string_view channel) const;
  bool module() const { return module_; }  // the GPU is one module with a CPU
  // One value or reason per channel, into the sink. Returns what the call as a whole answered.
  NvmlReturn read(const NvmlApi& api, NvmlApi::Device device, Sink& sink);

 private:
  std::vector<NvmlFieldValue> asked_;  // reused from round to round
  std::vector<Channel> channels_;
  std::vector<bool> zero_is_nothing_;  // 0 stands for "not supported"
  bool module_ = false;
};

}  // namespace joulery
