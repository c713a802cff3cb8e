// What undoes a change of the hardware, on disk before the change is made: whoever made it may be killed at any moment, and
// somebody else can still put things back.
//
// A journal is one file of JSON lines in a folder, for one holder. The holder keeps it locked (flock(2)) for as long as it lives,
// and a process that it passes the open file to may go on holding it; a journal that nobody has locked is to be undone. Lines:
//   {"schema":"joulery.undo/1","boot":"...","holder":"...","root":""}
//   {"change":N,"knob":"...","at":"node/gpu/0","before":{"limit_uw":...},"asked":{...}}   synced before the hardware is written
//   {"took":N,"state":{...}}                                                             as read back after it
//   {"done":N}                                                                           put back, or left alone for good
// A line that was torn by a crash is the last, and the write that it announces was never made.
//
// Invariant: when add() has returned, the change is undone by whoever reads this file, whatever happens to this process.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "act/power_knob.h"

namespace joulery {

struct UndoEntry {
  int number = 0;
  std::string knob;   // KnobFacts::id
  std::string where;  // as people call it: "node/gpu/0"
  KnobState before, asked;
  std::optional<KnobState> took;  // nothing where the holder died before it could read back
};

// The text of a journal, as values: what is not yet done. Takes anything: lines that are none are left out.
struct UndoText {
  std::string boot, holder, root;
  std::vector<UndoEntry> open;
  int entries = 0;       // ever, also those that are done
  bool known = false;    // false: the first line is missing or of another schema
};
UndoText parse_undo(std::string_view text);

class UndoJournal {
 public:
  // A new one in `folder`, which is made where it is absent, locked. `holder`: who it is for, told to others; `root`: of the
  // tree whose limits these are, "" for this machine.
  // Errors: permission, no_space, io.
  static Result<UndoJournal> make(const std::string& folder, const std::string& holder, const std::string& root = {});
  // One that is there, if nobody holds it: nothing where somebody does. Errors: not_found, permission, io.
  static Result<std::optional<UndoJournal>> take(const std::string& path);
  // The open file that another process passed on, which is closed with this.
  static UndoJournal adopt(int descriptor, std::string path);
  UndoJournal(UndoJournal&& other) noexcept;
  UndoJournal& operator=(UndoJournal&& other) noexcept;
  ~UndoJournal();

  const std::string& path() const { return path_; }
  int descriptor() const { return descriptor_; }

  // What is to be undone if all ends now. Errors: io.
  Result<UndoText> read() const;
  // Announces a change; on disk when this returns. Gives its number. Errors: no_space, io.
  Result<int> add(const std::string& knob, const std::string& where, const KnobState& before, const KnobState& asked);
  Result<void> took(int number, const KnobState& state);
  Result<void> done(int number);
  // Removes the file: all is undone.
  void remove();

 private:
  UndoJournal(int descriptor, std::string path) : descriptor_(descriptor), path_(std::move(path)) {}
  Result<void> append(const std::string& line);

  int descriptor_ = -1;
  std::string path_;
  int last_ = 0;
};

// The journals in a folder, sorted; none where it is absent.
std::vector<std::string> undo_journals(const std::string& folder);
// Of this start of the machine; "" where the kernel does not tell.
std::string boot_id();

}  // namespace joulery
