#include "watch/profile/chrome_scanner.h"

#include <cstddef>

namespace joulery {
namespace {

struct ArgMember {
  std::string_view key;
  std::string_view ChromeEvent::* member = nullptr;
};

constexpr ArgMember arg_members[] = {
    {"External id", &ChromeEvent::external},
    {"External Id", &ChromeEvent::external},
    {"correlation", &ChromeEvent::correlation},
    {"correlation_id", &ChromeEvent::correlation},
    {"Sequence number", &ChromeEvent::sequence},
    {"device", &ChromeEvent::device},
    {"stream", &ChromeEvent::stream},
    {"bytes", &ChromeEvent::bytes},
    {"bytes_accessed", &ChromeEvent::bytes},
    {"flops", &ChromeEvent::flops},
    {"est. achieved occupancy %", &ChromeEvent::occupancy},
    {"Module Hierarchy", &ChromeEvent::module_path},
    {"name", &ChromeEvent::arg_name},
    {"Total Allocated", &ChromeEvent::memory_used},
    {"Total Reserved", &ChromeEvent::memory_reserved},
    {"Device Id", &ChromeEvent::memory_device},
    {"Device Type", &ChromeEvent::memory_device_kind},
    {"step_num", &ChromeEvent::step_number},
    {"long_name", &ChromeEvent::op_path},
    {"tf_op", &ChromeEvent::op_path},
};

constexpr ArgMember event_members[] = {
    {"ph", &ChromeEvent::ph},   {"cat", &ChromeEvent::cat}, {"name", &ChromeEvent::name}, {"pid", &ChromeEvent::pid},
    {"tid", &ChromeEvent::tid}, {"ts", &ChromeEvent::ts},   {"dur", &ChromeEvent::dur},   {"id", &ChromeEvent::id},
};

// Members by a hash of their keys, made by the compiler: a trace has several keys for each number in it.
class MemberTable {
 public:
  template <std::size_t N>
  explicit constexpr MemberTable(const ArgMember (&members)[N]) {
    static_assert(N < slots / 2);
    for (const ArgMember& member : members) {
      std::size_t slot = slot_of(member.key);
      while (!entries_[slot].key.empty()) slot = (slot + 1) % slots;
      entries_[slot] = member;
    }
  }

  std::string_view ChromeEvent::* find(std::string_view key) const {
    if (key.empty()) return nullptr;
    for (std::size_t slot = slot_of(key); !entries_[slot].key.empty(); slot = (slot + 1) % slots)
      if (entries_[slot].key == key) return entries_[slot].member;
    return nullptr;
  }

 private:
  static constexpr std::size_t slots = 64;
  static constexpr std::size_t slot_of(std::string_view key) {
    return (key.size() * 5 + static_cast<unsigned char>(key.front()) + static_cast<unsigned char>(key.back()) * std::size_t{3}) % slots;
  }

  ArgMember entries_[slots];           // an empty key: none is here
};
constexpr MemberTable arg_table(arg_members);
constexpr MemberTable event_table(event_members);

// The members of one object, each to `each(key, cursor)`, which scans the value.
template <class Each>
bool scan_members(JsonCursor& json, Each&& each) {
  if (!json.literal('{')) return false;
  if (json.peek() == '}') {
    ++json.at;
    return true;
  }
  for (;;) {
    std::string_view key;
    if (!scan_string(json, key) || !json.literal(':') || !each(key)) return false;
    const char next = json.peek();
    if (next != ',' && next != '}') return false;
    ++json.at;
    if (next == '}') return true;
  }
}

bool scan_args(JsonCursor& json, ChromeEvent& event) {
  json.space();
  const char* const begin = json.at;
  std::string_view ignored;
  if (*begin != '{') return scan_value(json, ignored);
  const bool whole = scan_members(json, [&](std::string_view key) {
    const auto member = arg_table.find(key);
    return scan_value(json, member ? event.*member : ignored);
  });
  event.args = {begin, static_cast<std::size_t>(json.at - begin)};
  return whole;
}

bool scan_event(JsonCursor& json, ChromeEvent& event) {
  json.space();
  const char* const begin = json.at;
  event = {};
  std::string_view ignored;
  const bool whole = scan_members(json, [&](std::string_view key) {
    if (key == "args") return scan_args(json, event);
    const auto member = event_table.find(key);
    return scan_value(json, member ? event.*member : ignored);
  });
  event.text = {begin, static_cast<std::size_t>(json.at - begin)};
  return whole;
}

}  // namespace

// Runs `parse(cursor)` on the window, over and over with more of the input, until it succeeds.
template <class Parse>
Result<void> ChromeScanner::attempt(const char* what, Parse&& parse) {
  for (;;) {
    const std::string_view window = input_->window();
    JsonCursor json{window.data(), window.data() + window.size()};
    if (parse(json)) return {};
    const std::size_t at = static_cast<std::size_t>(json.at - window.data());
    if (!json.at_end())
      return fail(ErrorCode::format, std::string("the trace is not JSON that this reader knows, in ") + what, input_->place(at));
    const auto got = input_->more();
    if (!got) return std::unexpected(got.error());
    if (!*got)
      return fail(ErrorCode::format, std::string("the trace is cut short, in ") + what, input_->place(at),
                  "was the profiler stopped before it had written it?");
  }
}

void ChromeScanner::take(std::size_t bytes) {
  if (between_ && bytes > 0) between_(input_->window().substr(0, bytes));
  input_->take(bytes);
}

Result<ChromeScanner::Item> ChromeScanner::next() {
  if (pending_ > 0) {
    if (pending_event_)
      input_->take(pending_);
    else
      take(pending_);
    pending_ = 0;
  }
  switch (state_) {
    case State::start: return start();
    case State::in_object: return member();
    case State::in_events: return next_event();
    case State::after_events: return finish();
    case State::done: return Item::end;
  }
  return Item::end;
}

Result<ChromeScanner::Item> ChromeScanner::start() {
  std::size_t size = 0;
  const auto opened = attempt("its first byte", [&](JsonCursor& json) {
    const char* const begin = json.at;
    const char first = json.peek();
    if (first != '{' && first != '[') return false;
    bare_array_ = first == '[';
    size = static_cast<std::size_t>(json.at + 1 - begin);
    return true;
  });
  if (!opened) return std::unexpected(opened.error());
  take(size);
  state_ = bare_array_ ? State::in_events : State::in_object;
  return next();
}

Result<ChromeScanner::Item> ChromeScanner::member() {
  bool over = false, events = false;
  std::size_t size = 0;
  const auto read = attempt("its outer object", [&](JsonCursor& json) {
    const char* const begin = json.at;
    if (json.peek() == '}') {
      ++json.at;
      over = true;
    } else {
      if (!first_ && !json.literal(',')) return false;
      if (!scan_string(json, key_) || !json.literal(':')) return false;
      events = key_ == "traceEvents" && json.peek() == '[';
      if (events)
        ++json.at;
      else if (!scan_value(json, value_))
        return false;
    }
    size = static_cast<std::size_t>(json.at - begin);
    return true;
  });
  if (!read) return std::unexpected(read.error());
  if (over || events) {
    take(size);
    state_ = over ? State::after_events : State::in_events;
    first_ = events;
    return next();
  }
  first_ = false;
  pending_ = size;
  pending_event_ = false;
  return Item::value;
}

Result<ChromeScanner::Item> ChromeScanner::next_event() {
  bool over = false;
  std::size_t before = 0;
  const auto read = attempt("its events", [&](JsonCursor& json) {
    const char* const begin = json.at;
    over = json.peek() == ']';
    if (over) {
      before = static_cast<std::size_t>(json.at - begin);
      return true;
    }
    if (!first_ && !json.literal(',')) return false;
    // Chrome itself allows an array that a crash left open, and a comma before its end.
    if (json.peek() == ']') {
      before = static_cast<std::size_t>(json.at - begin);
      return over = true;
    }
    if (!scan_event(json, event_)) return false;
    before = static_cast<std::size_t>(event_.text.data() - begin);
    return true;
  });
  if (!read) return std::unexpected(read.error());
  if (over) {
    take(before);
    pending_ = 1;                      // the bracket
    pending_event_ = false;
    state_ = bare_array_ ? State::after_events : State::in_object;
    first_ = false;
    return Item::events_end;
  }
  first_ = false;
  take(before);
  pending_ = event_.text.size();
  pending_event_ = true;
  return Item::event;
}

// What follows the outermost bracket: spaces.
Result<ChromeScanner::Item> ChromeScanner::finish() {
  for (;;) {
    const std::string_view window = input_->window();
    const std::size_t other = window.find_first_not_of(" \n\r\t");
    if (other != std::string_view::npos) return fail(ErrorCode::format, "the trace goes on behind its end", input_->place(other));
    take(window.size());
    const auto got = input_->more();
    if (!got) return std::unexpected(got.error());
    if (!*got) break;
  }
  state_ = State::done;
  return Item::end;
}

}  // namespace joulery
