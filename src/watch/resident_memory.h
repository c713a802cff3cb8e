// How much memory each process of the machine holds: what the energy of DRAM is shared by. A process that sleeps holds its memory
// too, so all that live are told, not only those that ran.
//
// Cost: the list of processes is read every ten looks; the memory of each is read again every ten looks as well, a tenth of them
// at each. So a figure is ten looks old at most, and 5,000 processes cost five hundred small reads a look.
//
// Invariant: a process is told as long as it lives, by pid and start; one whose memory cannot be read is not told.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "watch/process_sample.h"

namespace joulery {

class ResidentMemory {
 public:
  struct Holder {
    ProcessId id;
    std::int32_t parent = 0;
    std::uint32_t user = 0;
    std::string name;
    std::int64_t bytes = 0;  // resident, shared pages too (field 2 of /proc/PID/statm); 0: a kernel thread
  };

  // `root` holds proc/, "" for this machine.
  explicit ResidentMemory(std::string root = {}) : root_(std::move(root)) {}

  // By pid. Valid until the next look.
  const std::map<std::int32_t, Holder>& look();
  // It has ended, as whoever accounts CPU time was told: before the next list would miss it.
  void forget(ProcessId id);

 private:
  static constexpr unsigned turns = 10;

  void list();
  bool identify(std::int32_t pid, Holder& holder) const;
  bool read(Holder& holder) const;  // false: it is gone

  std::string root_;
  unsigned turn_ = 0;
  std::map<std::int32_t, Holder> holders_;
};

}  // namespace joulery
