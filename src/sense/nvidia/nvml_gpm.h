// NVIDIA's own profiling metrics (GPM, since Hopper), of a whole GPU or of one MIG slice: how much of the time and of its units
// was at work. A metric is a difference of two samples of the driver, more than 100 ms apart.
//
// Invariant: read() gives one value or reason per channel. Between two samples it gives what the last two told, as a device does
// that refreshes its value every 100 ms or more.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "core/time.h"
#include "sense/nvidia/nvml_fields.h"

namespace joulery {

class NvmlGpm {
 public:
  // No channels where the GPU has none. `slice`: a GPU instance, or nothing for the whole GPU. The library outlives the object.
  NvmlGpm(const NvmlApi& api, NvmlApi::Device device, std::optional<unsigned> slice, const Component& component);
  NvmlGpm(NvmlGpm&& other) noexcept;
  NvmlGpm& operator=(NvmlGpm&&) = delete;
  ~NvmlGpm();

  const std::vector<Channel>& channels() const { return channels_; }
  void read(NvmlApi::Device device, MonoTime now, Sink& sink);

 private:
  NvmlReturn sample(NvmlApi::Device device, NvmlApi::GpmSample into) const;
  void refresh(NvmlApi::Device device, MonoTime now);

  const NvmlApi* api_;
  std::optional<unsigned> slice_;
  NvmlApi::GpmSample older_ = nullptr, newer_ = nullptr;
  MonoTime sampled_;
  bool has_sample_ = false;
  std::unique_ptr<NvmlGpmRequest> request_;
  std::vector<Channel> channels_;
  std::vector<NvmlReturn> codes_;     // of the last values, one per channel
  std::vector<std::int64_t> values_;
};

}  // namespace joulery
