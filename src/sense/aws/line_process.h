// A program that we run beside us and that says one line after another on its standard output; we take the newest.
//
// It is a process group of its own, so that the terminal's Ctrl-C is not its business, and ends with the object. If we are
// killed, its next line finds nobody to read and ends it.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "core/time.h"

namespace joulery {

class LineProcess {
 public:
  // `input_file`: what the program finds as /proc/self/fd/3, a small configuration.
  LineProcess(std::vector<std::string> command, std::string input_file);
  LineProcess(const LineProcess&) = delete;
  LineProcess& operator=(const LineProcess&) = delete;
  ~LineProcess();

  // 0, or the errno of a start that failed: ENOENT where the program is not there.
  int start();
  // The newest whole line since the last look, if there is one. Waits until `until` for the first.
  std::optional<std::string> newest_line(MonoTime until);
  bool running() const { return pid_ > 0; }
  void stop();

 private:
  bool take_in();  // false: nothing more to come for now

  std::vector<std::string> command_;
  std::string input_, text_;
  pid_t pid_ = -1;
  int output_ = -1;
};

}  // namespace joulery
