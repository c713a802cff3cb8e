// A whole file that calls itself a recording: opening it and reading all of it gives data or errors, never a crash.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "ledger/run_facts.h"
#include "ledger/timeline.h"
#include "record/recording.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace joulery;
  const int file = ::memfd_create("recording", MFD_CLOEXEC);
  if (file < 0 || ::write(file, data, size) != static_cast<ssize_t>(size)) return 0;
  if (const auto recording = Recording::open("/proc/self/fd/" + std::to_string(file))) {
    static_cast<void>(facts_from((*recording)->metadata()));
    static_cast<void>(Timeline::from(**recording, 2));
    static_cast<void>((*recording)->marks());
    static_cast<void>((*recording)->processes());
  }
  ::close(file);
  return 0;
}
