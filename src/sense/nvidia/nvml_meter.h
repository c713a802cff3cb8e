// One NVIDIA GPU as a meter: its energy and power, what it does, and its MIG slices.
//
// Invariant: each round is one call for all fields and one for each reading that has no field. A GPU that does not answer any more
// is asked for again by its UUID, once in two seconds: its readings are missing meanwhile and say so.
#pragma once

#include <string>
#include <vector>

#include "sense/meter.h"
#include "sense/nvidia/nvml_calls.h"
#include "sense/nvidia/nvml_fields.h"
#include "sense/nvidia/nvml_gpm.h"
#include "sense/nvidia/nvml_mig.h"
#include "sense/nvidia/nvml_processes.h"

namespace joulery {

class NvmlMeter final : public Meter {
 public:
  // Finds out what the GPU can tell. `slices`: of a partitioned GPU.
  NvmlMeter(NvmlLibrary library, NvmlApi::Device device, std::string uuid, const GpuFacts& facts, std::vector<MigSlice> slices);

  bool burns() const;   // tells energy or power of the GPU or its module
  bool module() const { return fields_.module(); }
  std::span<const Channel> channels() const override { return channels_; }
  void read(Sink& sink) override;
  void processes(std::vector<DeviceProcess>& into) override;

 private:
  void add_calls(std::span<const NvmlCall> calls, std::vector<const NvmlCall*>& to, const GpuFacts& facts);
  void add_slices(const GpuFacts& facts);
  bool has(std::string_view channel) const;
  void note(NvmlReturn code) { lost_ = lost_ || is_lost(code); }
  void look_again(MonoTime now);

  NvmlLibrary library_;
  NvmlApi::Device device_;
  std::string uuid_;
  Component component_;
  bool partitioned_;
  NvmlFields fields_;
  std::vector<const NvmlCall*> before_, after_;  // the fields
  std::vector<MigSlice> slices_;                 // with memory of their own: one per GPU instance
  std::vector<NvmlGpm> gpm_;
  NvmlProcesses processes_;
  std::vector<Channel> channels_;
  bool lost_ = false;
  MonoTime looked_;
};

}  // namespace joulery
