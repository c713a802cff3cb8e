// One ring as the reader sees it. For the reader's contract see watch/mark_reader.h.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "watch/mark.h"
#include "watch/mark_ring.h"
#include "watch/tick_clock.h"

namespace joulery {

enum class RingState {
  open,    // may give more
  done,    // its process is gone and everything was taken
  broken,  // what stands in it cannot be: see problem()
};

class RingFile {
 public:
  // Opens `directory/name`, which is not read yet. ErrorCode::busy: too many open files, try again later.
  static Result<std::unique_ptr<RingFile>> open(const std::string& directory, const std::string& name);
  ~RingFile();
  RingFile(const RingFile&) = delete;
  RingFile& operator=(const RingFile&) = delete;

  // Appends the committed marks, each lane's in its own order. `over`: take the writers for dead.
  RingState drain(bool over, TickClock& clock, std::vector<Mark>& into);
  bool unlink() const;

  const std::string& name() const { return name_; }
  std::int64_t lost() const { return lost_here_ + lost_there_; }
  const Error& problem() const { return problem_; }

 private:
  RingFile(std::string directory, std::string name, int file) : directory_(std::move(directory)), name_(std::move(name)), file_(file) {}
  bool has_no_writer() const;
  RingState check(const RingHeader& header);
  RingState broken(std::string what);
  void drain_lane(std::size_t lane, std::uint64_t head, bool dead, TickClock& clock, std::vector<Mark>& into);
  std::size_t read_records(std::size_t lane, std::size_t count, std::vector<RingRecord>& into) const;
  std::optional<MonoTime> time_of(const RingRecord& record, const TickClock& clock) const;
  bool give(const RingRecord& record, bool dead, const TickClock& clock, std::vector<Mark>& into);
  const std::string* name_of(std::uint16_t id);
  void store_tail(std::size_t lane) const;

  std::string directory_, name_;
  int file_;
  std::int32_t pid_ = 0;
  RingClock ticks_ = RingClock::monotonic_ns;
  bool seen_whole_ = false;
  std::array<std::uint64_t, ring_lanes> tails_{};
  std::int64_t lost_here_ = 0, lost_there_ = 0;  // found lost by this reader; dropped by the writers
  std::vector<std::string> names_;
  Error problem_;
};

}  // namespace joulery
