// Another tool's log: the first byte chooses the format (or leaves the choice to the text), the rest is the log. What is read
// keeps the laws of an imported log.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "record/import/import_log.h"
#include "record/import/write_log.h"
#include "record/memory_recording.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace joulery;
  if (size == 0) return 0;
  const auto formats = log_formats();
  const std::size_t chosen = data[0] % (formats.size() + 1);
  ImportOptions options;
  if (data[0] & 0x80) options.interval = milliseconds(1000);
  const std::string_view text(reinterpret_cast<const char*>(data + 1), size - 1);
  const auto log = import_log(text, chosen == formats.size() ? "" : formats[chosen].name, options);
  if (!log) return 0;
  for (const LoggedDevice& device : log->devices) {
    WallTime last{INT64_MIN};
    for (const LoggedLine& line : device.lines) {
      if (line.values.size() != device.channels.size() || line.at < last) std::abort();
      for (const LoggedValue& value : line.values)
        if (value.raw < 0 || (value.reason != MissingReason::none && value.raw != 0 && device.kind != "slurm")) std::abort();
      last = line.at;
    }
  }
  const LogClock clock(*log);
  MemoryRecording recording(recorded_devices(*log));
  write_rounds(*log, clock, recording, [] {});
  return 0;
}
