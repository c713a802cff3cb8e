// Chrome's trace-event JSON, event by event, where it lies in the window: what the reader of Kineto and Chrome traces and
// the writer that adds energy to one both stand on.
//
// Invariant: every byte of the input is told once: as part of an event's `text`, or to `between`.
#pragma once

#include <functional>
#include <string_view>

#include "watch/profile/json_scan.h"
#include "watch/profile/trace_input.h"

namespace joulery {

// One event; each member is the JSON value as it stands there (a string with its quotes), empty where the event has none.
struct ChromeEvent {
  std::string_view text;               // all of the event
  std::string_view name, cat, ph, pid, tid, ts, dur, id;
  // Of its "args".
  std::string_view args;               // the object
  std::string_view external, correlation, sequence, device, stream, bytes, occupancy, module_path, arg_name;
  std::string_view memory_used, memory_reserved, memory_device, memory_device_kind, step_number, op_path, flops;
};

class ChromeScanner {
 public:
  enum class Item {
    event,       // event() is the next one
    value,       // a member of the file's outer object, other than its events: key() and value()
    events_end,  // the events' array is about to close
    end,         // the file is over
  };
  using Between = std::function<void(std::string_view)>;

  // `between` is given all bytes that belong to no event, in the file's order, each before the item that follows it.
  ChromeScanner(TraceInput& input, Between between = {}) : input_(&input), between_(std::move(between)) {}

  // The next item. What it gives stays valid until the next call. Errors: format, with the byte; those of the input.
  Result<Item> next();
  const ChromeEvent& event() const { return event_; }
  std::string_view key() const { return key_; }
  std::string_view value() const { return value_; }

 private:
  enum class State { start, in_object, in_events, after_events, done };

  template <class Parse>
  Result<void> attempt(const char* what, Parse&& parse);
  void take(std::size_t bytes);
  Result<Item> start();
  Result<Item> member();
  Result<Item> next_event();
  Result<Item> finish();

  TraceInput* input_;
  Between between_;
  State state_ = State::start;
  bool bare_array_ = false;            // the file is the events' array alone
  bool first_ = true;                  // of the members or the events
  std::size_t pending_ = 0;            // bytes of the event or value that next() still has to take
  bool pending_event_ = false;
  ChromeEvent event_;
  std::string_view key_, value_;
};

}  // namespace joulery
