// A small file that is read again and again while it may change under us: it is kept open and read at offset 0.
//
// A file of sysfs stays itself: a removed device makes its reads fail (ENODEV), and only then is it opened again. A plain
// file (a recorded tree, whose writer may replace it by rename, or remove it and bring it back) would go on showing its
// old text through the open descriptor. A file that lost its last name is opened again; that is looked at when the last
// look is 10 ms old or more and the count stood still meanwhile, so that at a period of 10 ms and longer every read sees the
// present file and at 1 kHz a replaced file is seen at most 10 ms late. A file that was moved elsewhere keeps a name: its path is looked up when the
// last look is 100 ms old or more, as that costs several times the read itself. Taking away the right to read does not
// end what is already open, as on any UNIX.
//
// Invariant: read() allocates nothing and throws nothing.
#pragma once

#include <cstdint>
#include <expected>
#include <span>
#include <string>
#include <string_view>

#include "core/time.h"
#include "sense/reading.h"

namespace joulery {

// errno as the reason of a missing reading.
MissingReason reason_from_errno(int number);

class LiveFile {
 public:
  explicit LiveFile(std::string path) : path_(std::move(path)) {}
  LiveFile(LiveFile&& other) noexcept;
  LiveFile& operator=(LiveFile&&) = delete;
  ~LiveFile();

  // The beginning of the file, up to the size of `buffer` (a view into it), or why there is none.
  // `now`: any monotonic time near the present: what the sink stamped last serves.
  [[gnu::hot]] std::expected<std::string_view, MissingReason> read(std::span<char> buffer, MonoTime now);
  // The file as one whole number that is not negative; its bits in the sign-bearing form of Reading::raw.
  [[gnu::hot]] std::expected<std::int64_t, MissingReason> read_count(MonoTime now);

  const std::string& path() const { return path_; }

 private:
  [[gnu::hot]] bool is_stale(MonoTime now);
  int open_file(MonoTime now);
  void close_file();

  std::string path_;
  int fd_ = -1;
  bool can_be_replaced_ = true;
  std::uint64_t device_ = 0, inode_ = 0;
  MonoTime checked_, looked_up_, changed_;
  std::uint64_t last_count_ = 0;
};

// Hands one reading to the sink: its value or its reason.
inline void report(Sink& sink, std::expected<std::int64_t, MissingReason> reading) {
  if (reading)
    sink.value(*reading);
  else
    sink.missing(reading.error());
}

}  // namespace joulery
