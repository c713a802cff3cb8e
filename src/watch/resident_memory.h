// How much memory each process of the machine holds: what the energy of DRAM is shared by. A process that sleeps holds its memory
// too, so all that live are told, not only those that ran.
//
// Cost: whoever accounts CPU time says who ran (ran()), for only who runs takes memory or gives it back. Those are read every ten looks,
// a tenth of them at each; those that sleep every two hundred, as the kernel may take pages from them. Who is new is read at the look
// after the one that it was first told for, so that a storm of short processes costs nothing here. The list of all processes,
// for those that slept when we began or of whom nobody told, is read every sixty looks; three thousand of them are read at a look.
//
// Invariant: a process is told as long as it lives, by pid and start; one whose memory cannot be read is not told.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "watch/cpu_account.h"
#include "watch/process_sample.h"

namespace joulery {

class ResidentMemory {
 public:
  struct Holder {
    ProcessId id;
    std::int32_t parent = 0;
    std::uint32_t user = 0;
    std::string name;
    std::int64_t bytes = 0;  // resident, shared pages too (field 2 of /proc/PID/statm); 0: a kernel thread, or not read yet
    bool ran = false;        // since its memory was read
    bool introduced = false; // the caller's own note; false again for another process
  };

  // `root` holds proc/, "" for this machine.
  explicit ResidentMemory(std::string root = {}) : root_(std::move(root)) {}

  // It ran since the last look, or has ended. Before look().
  void ran(const CpuUse& use);
  // By pid. Valid until the next look.
  std::unordered_map<std::int32_t, Holder>& look();

 private:
  void list();
  void read_listed();
  void read_new();
  bool identify(std::int32_t pid, Holder& holder) const;
  bool read(Holder& holder) const;  // false: it is gone
  bool read_again(Holder& holder, bool identify_too) const;

  std::string root_;
  unsigned look_ = 0;
  std::unordered_map<std::int32_t, Holder> holders_;
  std::vector<std::int32_t> listed_;     // not read yet
  std::vector<ProcessId> new_, newest_;  // not read yet: told for the last look, and for the next
};

}  // namespace joulery
