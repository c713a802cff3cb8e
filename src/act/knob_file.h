// A small file of sysfs that holds one number which may be set: opened once, while this process may, and read and written
// ever after.
//
// Invariant: opened for writing only where that was asked for, and never made or made longer than what is written.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/result.h"

namespace joulery {

// Where limits are told and set by nobody: by an agent whose configuration names nobody.
Error nobody_is_named();

class KnobFile {
 public:
  enum class Access : std::uint8_t { read, write };
  // Never fails: why it cannot be written, or read, is told by obstacle() and read().
  KnobFile(std::string path, Access access);
  KnobFile(KnobFile&& other) noexcept;
  KnobFile& operator=(KnobFile&&) = delete;
  ~KnobFile();

  const std::string& path() const { return path_; }
  Result<std::int64_t> read() const;
  Result<void> write(std::int64_t value) const;
  // Why it cannot be written; nothing where it can.
  std::optional<Error> obstacle() const;

 private:
  std::string path_;
  int descriptor_ = -1;
  bool writable_ = false;
  int why_not_ = 0;        // errno of opening it for writing; 0: was not asked for
  int unreadable_ = 0;     // errno of opening it at all
  bool plain_ = false;     // no file of sysfs: a recorded tree, in which a shorter number leaves digits behind
};

}  // namespace joulery
