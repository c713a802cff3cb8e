#include "ledger/merge/splice.h"

#include <algorithm>

namespace joulery {
namespace {

bool same_device(const RecordedDevice& a, const RecordedDevice& b) {
  return a.kind == b.kind && a.name == b.name && a.channels == b.channels;
}

// Goes on with `series` after `end`, where it holds something later.
void append(const Series& series, std::size_t input, std::size_t device, SplicedDevice& spliced, MonoTime& end) {
  const auto from = static_cast<std::size_t>(std::ranges::upper_bound(series.before, end) - series.before.begin());
  if (from >= series.before.size()) return;
  spliced.pieces.push_back({input, device, from});
  end = series.after.back();
}

}  // namespace

std::vector<SplicedDevice> splice_devices(const std::vector<MergeInput>& inputs, const PlannedHost& host) {
  std::vector<SplicedDevice> devices;
  std::vector<MonoTime> ends;
  for (const std::size_t input : host.inputs) {  // by begin of their runs: who began first reads first
    const Recording& recording = *inputs[input].recording;
    for (std::size_t d = 0; d < recording.devices().size(); ++d) {
      const RecordedDevice& device = recording.devices()[d];
      const auto known = std::ranges::find_if(
          devices, [&](const SplicedDevice& s) { return same_device(s.recorded, device) && s.pieces.back().input != input; });
      if (known == devices.end()) {
        devices.push_back({device, {{input, d, 0}}});
        const auto series = host.inputs.size() > 1 ? recording.series(d) : Result<Series>(Series{});
        ends.push_back(series && !series->after.empty() ? series->after.back() : MonoTime{});
        continue;
      }
      if (const auto series = recording.series(d))
        append(*series, input, d, *known, ends[static_cast<std::size_t>(known - devices.begin())]);
    }
  }
  return devices;
}

}  // namespace joulery
