// What `joulery top` draws: the node's components and its consumers as lines for a terminal of a given size. Pure: where the
// keys come from and the lines go to is the command's business.
//
// Invariant: never more lines than the screen has, none wider; without colour no escape sequence.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "publish/style.h"
#include "publish/top_rows.h"

namespace joulery {

// The watts of every consumer over the last ticks, for the trend; and how busy each kept the CPUs in the last one.
class TopHistory {
 public:
  static constexpr std::size_t kept = 24;  // ticks

  void take(const NodeAccount& account);
  const std::deque<double>* trend(const ConsumerAccount& consumer) const;
  // CPUs kept busy over the last tick: 1.5 is one and a half; nothing at the first.
  std::optional<double> cpus(const ConsumerAccount& consumer) const;

 private:
  using Key = std::pair<ConsumerKind, std::string>;
  struct Past {
    std::deque<double> watts;
    Duration cpu, cpu_before;
    std::size_t seen = 0, ticks = 0;
  };
  std::map<Key, Past> past_;
  std::size_t tick_ = 0;
  Duration length_;
};

struct TopView {
  TopChoice choice;
  bool tree = false;             // processes below the container, unit or user that they belong to
  bool paused = false;
  bool asking = false;           // a filter is being typed
  std::size_t scrolled = 0;      // rows
  std::string note;              // what the user should know: why /proc and not eBPF, what could not be done
};

// `height`: lines of the screen, at least 8 are used.
std::vector<std::string> top_screen(const NodeAccount& account, const TopHistory& history, const TopView& view, const TextStyle& style,
                                    int height);

// Trend in eight steps from 0 to the greatest: "▁▃▇"; in ASCII ".-#".
std::string trend_text(const std::deque<double>& values, std::size_t cells, bool unicode);

}  // namespace joulery
