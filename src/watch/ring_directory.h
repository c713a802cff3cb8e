// The private directory in shared memory where marked programs make their rings.
//
// Invariant: while the object lives the directory is there, readable by this user alone, and locked (flock), so
// that a later run can tell it from one that a killed run left behind, and removes only the latter.
#pragma once

#include <string>

#include "core/result.h"

namespace joulery {

class RingDirectory {
 public:
  // In /dev/shm, else in $TMPDIR, else in /tmp. Also clears away what killed runs of this user left there.
  static Result<RingDirectory> make();
  // The same in `parent`, which exists.
  static Result<RingDirectory> make_in(const std::string& parent);

  RingDirectory(RingDirectory&& other) noexcept;
  RingDirectory& operator=(RingDirectory&& other) noexcept;
  RingDirectory(const RingDirectory&) = delete;
  RingDirectory& operator=(const RingDirectory&) = delete;
  ~RingDirectory();  // removes the directory; programs that still mark do so unheard

  const std::string& path() const { return path_; }
  // "JOULERY_RING=PATH", for the environment of the program to be measured.
  std::string environment() const;

 private:
  RingDirectory(std::string path, int lock) : path_(std::move(path)), lock_(lock) {}
  void remove();
  std::string path_;
  int lock_ = -1;
};

}  // namespace joulery
