// The machine that is measured, as seen through one root folder: "/" for this one, or a recorded tree with sys/
// and proc/ in it. Handed to every probe and meter, so that real code runs on a recorded tree without test hooks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace joulery {

// "/sys/class/hwmon", "hwmon0" -> "/sys/class/hwmon/hwmon0".
std::string path_below(std::string_view folder, std::string_view name);

class Machine {
 public:
  // `root` is a folder: "" for this machine, or a tree that holds sys/ and proc/.
  explicit Machine(std::string root = {});

  bool is_this_machine() const { return root_.empty(); }
  // "/sys/class/powercap" -> the path to open.
  std::string path(std::string_view absolute) const { return root_ + std::string(absolute); }
  // A whole small file (up to 1 MiB) without trailing white space; an Error names the path.
  Result<std::string> read(std::string_view absolute) const;
  // The first `at_most` bytes, "" where the file cannot be read: for facts that are only told, never measured.
  std::string read_or_empty(std::string_view absolute, std::size_t at_most = 1 << 20) const;
  // A file that holds one whole number.
  Result<std::int64_t> read_integer(std::string_view absolute) const;
  // Names in a folder, sorted; empty where it does not exist or cannot be read.
  std::vector<std::string> list(std::string_view absolute) const;
  bool exists(std::string_view absolute) const;

 private:
  std::string root_;
};

}  // namespace joulery
