// The tables that `joulery sql` adds to a recording: samples and marks, unpacked chunk by chunk as they are asked for.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "record/recording.h"
#include "record/virtual_table.h"

namespace joulery {

// What both tables know of their recording.
struct DecodedSource {
  Database* database = nullptr;
  std::vector<RecordedDevice> devices;
  std::vector<std::string> mark_names;
  MonoTime start;  // t_s counts from here: the first clock crossing
};

// samples(device, kind, channel, component, t_s, mono_ns, raw, value, unit, missing): one row per reading, by device, then
// time. mono_ns and t_s are the begin of its round. Conditions on device, kind, channel, component and the times spare
// the unpacking of what they exclude. A damaged chunk is one row per channel whose `missing` says so.
std::unique_ptr<VirtualTable> samples_table(const DecodedSource& source);

// marks(t_s, mono_ns, pid, tid, kind, name, value): in the order in which they were added.
std::unique_ptr<VirtualTable> marks_table(const DecodedSource& source);

}  // namespace joulery
