// A write-ahead queue on disk: what is to be sent waits here until its receiver has it, for hours if need be, over restarts,
// crashes and a full disk. It knows nothing of what it holds.
//
// Frames are appended to segment files FOLDER/NNNN.frames, named by their first sequence number; `taken` holds the number up to
// which the receiver has all. A frame is on its way to the disk when add() returns: a process that is killed loses nothing, a
// machine without power at most what its kernel had not written yet. Whoever sends takes oldest(), and says done() when it was
// received: after a crash in between, the same frames come again.
//
// Invariant: frames come out in the order in which they went in, each until it is done; none is left out but those that the
// bound, damage or a full disk cost, and these are counted. Used by any number of threads, by one process at a time.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "record/queue/frame.h"

namespace joulery {

struct QueueOptions {
  std::string folder = {};                      // made where it is not there, its parents too
  std::uint64_t most_bytes = 256 << 20;         // on disk; beyond it the oldest segment goes
  std::uint64_t most_memory_bytes = 8 << 20;    // kept in memory while the disk takes nothing; beyond it the oldest go
  std::uint64_t segment_bytes = 1 << 20;        // at most a quarter of most_bytes is used
  // What a payload holds, for the count of what is lost; 1 where nobody says.
  std::function<std::uint64_t(std::string_view payload)> items_in = {};
};

struct QueueState {
  std::uint64_t queued_bytes = 0;               // not done yet, on disk and in memory
  std::uint64_t memory_bytes = 0;               // of these, in memory only
  std::uint64_t dropped_frames = 0;             // lost to the bounds since the queue was opened
  std::uint64_t dropped_bytes = 0, dropped_items = 0;
  std::uint64_t damaged_bytes = 0;              // passed over in its files
  std::string trouble;                          // why the disk takes nothing now: "" where it does
};

class FrameQueue {
 public:
  // Errors: busy, where another process has it; permission, no_space, io.
  static Result<std::unique_ptr<FrameQueue>> open(QueueOptions options);
  ~FrameQueue();
  FrameQueue(const FrameQueue&) = delete;
  FrameQueue& operator=(const FrameQueue&) = delete;

  // Never fails: what the disk does not take is kept in memory, what is too large for a frame is dropped and counted.
  void add(std::string_view payload);
  // The oldest frames that are not done, as many as fit into `most_bytes` of payload, at least one; empty where there is none.
  std::vector<Frame> oldest(std::uint64_t most_bytes);
  // All up to this number were received. Numbers that oldest() did not give are no error.
  void done(std::uint64_t sequence);
  QueueState state() const;

 private:
  struct Segment {
    std::uint64_t first = 0, bytes = 0;
  };
  // Where a frame that oldest() gave ends.
  struct Seen {
    std::uint64_t sequence = 0, segment = 0, end = 0, damaged = 0;
  };
  FrameQueue(QueueOptions options, int folder);
  Result<void> find_segments();
  void find_taken();
  void cut_last();
  std::string read_from(const Segment& segment, std::uint64_t offset);
  bool take_from(std::size_t index, std::uint64_t most_bytes, std::uint64_t& bytes, std::vector<Frame>& frames);
  bool write(const Frame& frame);
  bool begin_segment(std::uint64_t first);
  bool cannot(const char* what);
  void keep_in_memory(Frame frame);
  bool move_memory_to_disk();
  void keep_bound(std::uint64_t more);
  void count_lost(std::string_view payload);
  void drop_front();
  void remove_front();
  void close_active();
  void write_taken();

  mutable std::mutex mutex_;
  QueueOptions options_;
  int folder_, active_ = -1, taken_file_ = -1;
  std::deque<Segment> segments_;   // the last one is written to
  std::uint64_t cursor_ = 0;       // in the first segment: all before it is done
  std::uint64_t next_ = 1, taken_ = 0;
  std::uint64_t slot_ = 0;         // of `taken`, to be written next
  std::vector<Seen> seen_;         // of the last oldest()
  std::deque<Frame> memory_;
  QueueState state_;
};

}  // namespace joulery
