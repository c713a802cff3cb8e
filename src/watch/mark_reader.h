// Takes the marks of all processes of a run out of their rings (watch/mark_ring.h), while they are written.
//
// The rings belong to other programs: anything may stand in them, they may shrink, and their writers may be
// killed at any moment. So nothing in them is mapped or trusted: they are read by pread, positions are kept here,
// and every field is checked.
//
// Invariant: each mark that a living ring accepted is given out exactly once, or is counted in lost().
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "watch/mark.h"
#include "watch/tick_clock.h"

namespace joulery {

class RingFile;
enum class RingState;

class MarkReader {
 public:
  explicit MarkReader(std::string directory);
  MarkReader(MarkReader&&) noexcept;
  MarkReader& operator=(MarkReader&&) noexcept;
  ~MarkReader();

  // What came since the last call, in order of time. A mark that was late in being committed may come with a later
  // call although it is earlier: whoever keeps them sorts by time. Call it at least every 100 ms where some program marks: a
  // thread's lane holds 8,192.
  std::vector<Mark> drain();
  bool has_rings() const { return !rings_.empty(); }

  // The last drain: the run is over, so what is claimed and not committed by now never will be, and counts as lost.
  std::vector<Mark> finish();

  // Marks that were placed and not given out: full rings, killed writers, unreadable records, rings that broke.
  std::int64_t lost() const;
  // Processes that found no room for a ring (a full /dev/shm, a file size limit): none of their marks are heard.
  std::int64_t unheard_processes() const { return unheard_; }
  // One for each ring that cannot be read: what is wrong with it, and where.
  const std::vector<Error>& problems() const { return problems_; }

 private:
  // When the directory had last changed, as it was listed, and when that was; of the wall clock, as files have it.
  struct Listing {
    std::int64_t changed = 0, at = 0;
  };

  bool is_as_listed() const;
  bool admit_new_rings();
  void take(const std::string& name);
  void retire(const RingFile& ring, RingState state);
  std::vector<Mark> drain_all(bool over);
  std::string directory_;
  TickClock clock_;
  std::vector<std::unique_ptr<RingFile>> rings_;
  std::optional<Listing> listed_;     // listing costs more than all else that a quiet drain does
  bool come_again_ = false;           // a ring could not be opened yet
  std::vector<std::string> refused_;  // names of rings not to be opened again, sorted
  std::vector<Error> problems_;
  std::int64_t lost_ = 0, unheard_ = 0;  // lost_: of rings that are gone
};

}  // namespace joulery
