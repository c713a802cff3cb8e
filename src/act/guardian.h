// A small process that puts power limits back when the one that set them is gone, however it went: `kill -9` cannot be caught, but
// a pipe whose other end is closed can be read.
//
// It is this program itself, started as `joulery power --guard FILE`, in a session of its own, so that neither a terminal's
// keys nor a signal to the group reach it. It holds the journal locked (act/undo_journal.h) for as long as it lives.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "act/power_control.h"
#include "act/undo_journal.h"
#include "core/result.h"

namespace joulery {

class Guardian {
 public:
  // Where the guardian finds its open files.
  static constexpr int lifeline = 0, answers = 1, journal_file = 3;

  // Watches this process from when it returns. `sysroot`: the tree whose limits these are, "" for this machine. Errors: io.
  static Result<Guardian> start(const UndoJournal& journal, const std::string& sysroot);
  Guardian(Guardian&& other) noexcept;
  Guardian& operator=(Guardian&&) = delete;
  ~Guardian();

  // Lets it undo everything now, and tells what became of it; nothing where it could not be asked (somebody killed it): then the
  // journal is still to be undone.
  std::optional<std::vector<Undone>> finish();

  // The guardian's own side: waits until whoever started it is gone or lets go, undoes the journal, tells it. The exit code.
  static int stand_guard(const std::string& journal, PowerControl& control);

 private:
  Guardian(pid_t pid, int line, int answer) : pid_(pid), line_(line), answer_(answer) {}

  pid_t pid_;
  int line_, answer_;
};

}  // namespace joulery
