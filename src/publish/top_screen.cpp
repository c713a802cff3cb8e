#include "publish/top_screen.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/units.h"
#include "publish/columns.h"
#include "publish/numbers.h"
#include "publish/utf8.h"

namespace joulery {

void TopHistory::take(const NodeAccount& account) {
  ++tick_;
  length_ = account.tick;
  for (const ConsumerAccount& consumer : account.consumers) {
    Past& past = past_[{consumer.kind, consumer.name}];
    past.cpu_before = past.ticks == 0 ? consumer.cpu : past.cpu;
    past.cpu = consumer.cpu;
    past.seen = tick_;
    ++past.ticks;
    past.watts.push_back(consumer.power ? to_watts(*consumer.power) : 0);
    if (past.watts.size() > kept) past.watts.pop_front();
  }
  std::erase_if(past_, [&](const auto& entry) { return entry.second.seen != tick_; });
}

const std::deque<double>* TopHistory::trend(const ConsumerAccount& consumer) const {
  const auto found = past_.find({consumer.kind, consumer.name});
  return found == past_.end() ? nullptr : &found->second.watts;
}

std::optional<double> TopHistory::cpus(const ConsumerAccount& consumer) const {
  const auto found = past_.find({consumer.kind, consumer.name});
  if (found == past_.end() || found->second.ticks < 2 || length_ <= Duration{}) return std::nullopt;
  return (found->second.cpu - found->second.cpu_before) / length_;
}

std::string trend_text(const std::deque<double>& values, std::size_t cells, bool unicode) {
  static constexpr const char* eighths[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  static constexpr const char* plain[] = {"_", ".", ".", "-", "-", "=", "=", "#"};
  const double most = values.empty() ? 0 : *std::ranges::max_element(values);
  std::string text;
  for (std::size_t i = values.size() > cells ? values.size() - cells : 0; i < values.size(); ++i) {
    const double share = most > 0 ? std::clamp(values[i] / most, 0.0, 1.0) : 0;
    const auto step = static_cast<std::size_t>(std::lround(share * 7));
    text += unicode ? eighths[step] : plain[step];
  }
  return text;
}

namespace {

std::string right(const std::string& text, int width) { return padded(text, width, true); }

std::string watts_text(const std::optional<Power>& power) { return power ? fmt::format("{:.1f} W", to_watts(*power)) : "missing"; }

std::string clock_text(Duration time) {
  const auto s = time.base_units() / 1'000'000'000;
  return fmt::format("{:02}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60);
}

const char* title_of(ConsumerOrder order) {
  constexpr const char* titles[] = {"joules", "watts", "CPU", "name"};
  return titles[static_cast<unsigned>(order)];
}

// Draws into lines of at most the style's width.
class Screen {
 public:
  Screen(const NodeAccount& account, const TopHistory& history, const TopView& view, const TextStyle& style, int height)
      : account_(account),
        history_(history),
        view_(view),
        style_(style),
        width_(std::max(40, style.width)),
        height_(static_cast<std::size_t>(std::max(8, height))) {}

  std::vector<std::string> draw() {
    head();
    components();
    add(title(), Ink::dim);
    rows();
    return std::move(lines_);
  }

 private:
  void add(const std::string& text, Ink ink = Ink::plain) {
    if (lines_.size() < height_) lines_.push_back(painted(clipped(text, width_, style_.unicode), ink, style_));
  }

  void head() {
    const bool any = std::ranges::any_of(account_.components, [](const ComponentAccount& component) { return !component.energy.empty(); });
    std::string text = fmt::format("joulery top  {}  {}  {}", clock_text(account_.now - account_.begin), watts_text(node_power(account_)),
                                   any ? to_text(node_energy(account_)) : "missing");
    if (!account_.method.empty()) text += "  CPU time by " + account_.method;
    if (view_.paused) text += "  PAUSED";
    add(text, Ink::strong);
    if (view_.asking)
      add("filter: " + printable(view_.choice.filter) + "_");
    else if (!view_.note.empty())
      add(printable(view_.note), Ink::fair);
  }

  void components() {
    const std::size_t room = std::max<std::size_t>(2, height_ / 3);
    std::size_t drawn = 0;
    for (const auto* all : {&account_.components, &account_.overlaps})
      for (const ComponentAccount& component : *all) {
        if (++drawn > room) return;
        const bool missing = !component.power;
        std::string text = padded("  " + printable(component.component), 28) + right(missing ? "missing" : watts_text(component.power), 10);
        text += "  " + std::string(missing ? printable(component.reason) : std::string(name_of(component.quality)));
        if (!missing && component.idle) text += fmt::format(", idle {:.1f} W", to_watts(*component.idle));
        if (!missing && !component.idle && all == &account_.components) text += ", idle not learnt yet";
        if (!component.meter.empty()) text += ", " + printable(component.meter);
        add(text, missing ? Ink::bad : all == &account_.overlaps ? Ink::dim : Ink::plain);
      }
  }

  std::size_t trend_cells() const { return width_ >= 100 ? TopHistory::kept : width_ >= 70 ? 8 : 0; }

  std::string title() const {
    std::string text = right("WATTS", 9) + right("SHARE", 8) + right("JOULES", 11) + right("CPU", 8) + "  ";
    if (trend_cells() > 0) text += padded("TREND", static_cast<int>(trend_cells())) + "  ";
    text += fmt::format("{} by {}", view_.tree ? "tree" : name_of(view_.choice.kind), title_of(view_.choice.order));
    if (!view_.choice.filter.empty()) text += ", only '" + printable(view_.choice.filter) + "'";
    return text;
  }

  std::string numbers(const ConsumerAccount& of, Energy joules, const std::optional<double>& share) const {
    const auto cpus = history_.cpus(of);
    const bool person = of.kind != ConsumerKind::idle && of.kind != ConsumerKind::unattributed;
    std::string text = right(of.power ? fmt::format("{:.2f}", to_watts(*of.power)) : "-", 9) + right(share ? percent(*share) : "-", 8) +
                       right(to_text(joules), 11) + right(person && cpus ? fmt::format("{:.0f} %", *cpus * 100) : "", 8) + "  ";
    if (trend_cells() == 0) return text;
    const auto* trend = history_.trend(of);
    return text + padded(trend ? trend_text(*trend, trend_cells(), style_.unicode) : "", static_cast<int>(trend_cells())) + "  ";
  }

  std::string name_of_row(const ConsumerAccount& of) const {
    if (of.kind == ConsumerKind::idle || of.kind == ConsumerKind::unattributed) return std::string(name_of(of.kind));
    std::string text = printable(of.name);
    for (const char* label : {"container", "unit", "job"})
      if (const std::string* value = find_label(of.labels, label); value && !view_.tree) return text + "  " + printable(*value);
    return text;
  }

  void add_row(const TopRow& row, const char* indent = "") {
    const bool person = row.account->kind != ConsumerKind::idle && row.account->kind != ConsumerKind::unattributed;
    add(numbers(*row.account, row.joules, row.share) + indent + name_of_row(*row.account), person ? Ink::plain : Ink::dim);
  }

  bool idle_is_known() const {
    return std::ranges::any_of(account_.components, [](const ComponentAccount& component) { return component.idle.has_value(); });
  }

  void rows() {
    std::vector<TopRow> all = top_rows(account_, view_.choice);
    std::vector<TopRow> last;
    while (!all.empty() && all.back().account->kind >= ConsumerKind::idle) {
      if (all.back().account->kind == ConsumerKind::unattributed || idle_is_known()) last.insert(last.begin(), all.back());
      all.pop_back();
    }
    const std::size_t room = height_ > lines_.size() + last.size() ? height_ - lines_.size() - last.size() : 0;
    const std::size_t end = lines_.size() + room;
    if (view_.tree)
      tree_rows(all, end);
    else
      for (std::size_t i = std::min(view_.scrolled, all.size()); i < all.size() && lines_.size() < end; ++i) add_row(all[i]);
    for (const TopRow& row : last) add_row(row);
  }

  static std::string group_of(const ConsumerAccount& process) {
    for (const char* label : {"container", "job", "unit", "user"})
      if (const std::string* value = find_label(process.labels, label)) return std::string(label) + " " + *value;
    return "(none)";
  }

  // Groups in the order of their first, that is greatest, process.
  void tree_rows(const std::vector<TopRow>& all, std::size_t end) {
    std::vector<std::pair<std::string, std::vector<const TopRow*>>> groups;
    for (const TopRow& row : all) {
      const std::string name = group_of(*row.account);
      auto group = std::ranges::find(groups, name, &std::pair<std::string, std::vector<const TopRow*>>::first);
      if (group == groups.end()) group = groups.insert(groups.end(), {name, {}});
      group->second.push_back(&row);
    }
    std::size_t skip = view_.scrolled;
    const auto wanted = [&] { return skip == 0 ? lines_.size() < end : (--skip, false); };
    for (const auto& [name, members] : groups) {
      ConsumerAccount sum;
      Energy joules;
      double share = 0;
      for (const TopRow* row : members) {
        joules += row->joules;
        share += row->share.value_or(0);
        if (row->account->power) sum.power = sum.power.value_or(Power{}) + *row->account->power;
      }
      if (wanted()) add(numbers(sum, joules, share) + printable(name), Ink::strong);
      for (const TopRow* row : members)
        if (wanted()) add_row(*row, style_.unicode ? "└ " : "- ");
    }
  }

  const NodeAccount& account_;
  const TopHistory& history_;
  const TopView& view_;
  const TextStyle& style_;
  int width_;
  std::size_t height_;
  std::vector<std::string> lines_;
};

}  // namespace

std::vector<std::string> top_screen(const NodeAccount& account, const TopHistory& history, const TopView& view, const TextStyle& style,
                                    int height) {
  return Screen(account, history, view, style, height).draw();
}

}  // namespace joulery
