#include "publish/profile/profile_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/units.h"
#include "publish/columns.h"
#include "publish/numbers.h"
#include "publish/text.h"
#include "publish/utf8.h"

namespace joulery {
namespace {

constexpr int widest_name = 60;

// "vectorized_elementwise_kernel<4, ..." of "void at::native::(anonymous namespace)::vectorized_elementwise_kernel<4, ...": demangled kernels
// differ behind their namespaces, where a narrow column ends. Other names stay as they are.
std::string_view without_namespaces(std::string_view name) {
  constexpr std::string_view returns = "void ", anonymous = "(anonymous namespace)::";
  if (!name.starts_with(returns)) return name;
  name.remove_prefix(returns.size());
  for (;;) {
    if (name.starts_with(anonymous)) {
      name.remove_prefix(anonymous.size());
      continue;
    }
    const std::size_t next = name.find("::");
    if (next == std::string_view::npos || name.substr(0, next).find_first_of("<( ") != std::string_view::npos) return name;
    name.remove_prefix(next + 2);
  }
}

class Tables {
 public:
  Tables(const ToldProfile& told, std::size_t most, const TextStyle& style)
      : told_(&told), account_(&told.account), most_(most), style_(&style) {}

  std::string text() {
    steps();
    phases();
    section("Operator", account_->operators,
            [](const OperatorLine& line) { return std::pair(line.name, line.merged.empty() ? "" : "not told apart: " + line.merged); });
    section("Kernel", account_->kernels,
            [](const KernelLine& line) { return std::pair(line.name, line.merged.empty() ? "" : "not told apart: " + line.merged); });
    section("Layer", account_->layers,
            [](const LayerLine& line) { return std::pair(line.path.empty() ? "(of no layer)" : line.path, std::string()); });
    gaps();
    return table_text(std::move(rows_), *style_);
  }

 private:
  bool energy() const { return account_->energy.has_value(); }

  void heading(std::string name) {
    if (!rows_.empty()) rows_.push_back({.heading = true});
    rows_.push_back({.heading = true,
                     .name = std::move(name),
                     .energy = energy() ? "energy" : "time",
                     .share = "share",
                     .watts = energy() ? "time" : "",
                     .peak = "calls",
                     .words = energy() ? "known by" : ""});
  }

  std::string name_of(const std::string& name) const {
    return "  " + clipped(printable(without_namespaces(name), style_->unicode), widest_name, style_->unicode);
  }

  TableRow row(std::string name, std::optional<Energy> joules, Duration time, std::int64_t calls, std::string words) {
    TableRow row{.name = std::move(name)};
    if (!energy()) {
      row.energy = to_text(time);
      if (account_->length > Duration{}) row.bar = std::min(1.0, time / account_->length), row.share = percent(*row.bar);
    } else {
      row.energy = joules ? to_text(*joules) : "missing";
      if (joules && *account_->energy > Energy{})
        row.bar = std::clamp(*joules / *account_->energy, 0.0, 1.0), row.share = percent(*row.bar);
      row.watts = to_text(time);
    }
    if (calls > 0) row.peak = grouped(calls);
    row.words = std::move(words);
    return row;
  }

  static std::string words_of(const ProfileFigures& figures, const std::string& extra) {
    std::string words;
    if (figures.energy)
      words = figures.low && figures.high ? fmt::format("{} to {}", to_text(*figures.low), to_text(*figures.high))
                                          : std::string(joulery::name_of(figures.quality));
    if (!extra.empty()) words += (words.empty() ? "" : "; ") + extra;
    return words;
  }

  template <class Line, class Name>
  void section(const char* title, const std::vector<Line>& lines, Name&& name) {
    if (lines.empty()) return;
    heading(title);
    const std::size_t shown = most_ == 0 ? lines.size() : std::min(most_, lines.size());
    for (std::size_t i = 0; i < shown; ++i) {
      const ProfileFigures& figures = lines[i].figures;
      const auto [text, extra] = name(lines[i]);
      rows_.push_back(row(name_of(text), figures.energy, figures.host + figures.device, figures.calls, words_of(figures, extra)));
    }
    if (shown < lines.size()) rows_.push_back({.name = fmt::format("  and {} more", lines.size() - shown), .dim = true});
  }

  void steps() {
    if (account_->steps.empty()) return;
    heading("Step");
    const std::size_t shown = most_ == 0 ? account_->steps.size() : std::min(most_, account_->steps.size());
    for (std::size_t i = 0; i < shown; ++i) {
      const StepLine& step = account_->steps[i];
      rows_.push_back(
          row(name_of(step.number >= 0 && !step.name.ends_with(std::to_string(step.number)) ? fmt::format("{} {}", step.name, step.number)
                                                                                            : step.name),
              step.energy, step.length, 0, step.energy ? std::string(joulery::name_of(account_->quality)) : ""));
    }
    if (shown < account_->steps.size())
      rows_.push_back({.name = fmt::format("  and {} more", account_->steps.size() - shown), .dim = true});
  }

  void phases() {
    if (account_->phases.size() < 2) return;
    heading("Phase");
    for (const PhaseLine& phase : account_->phases)
      rows_.push_back(
          row(name_of(phase.name), phase.energy, phase.length, 0, phase.energy ? std::string(joulery::name_of(account_->quality)) : ""));
  }

  void gaps() {
    heading("Gap");
    for (const GapLine& gap : account_->gaps)
      rows_.push_back(row(fmt::format("  {}: {}", gap.device < 0 ? "host" : fmt::format("device {}", gap.device),
                                      gap.all_the_time ? "static power, always"
                                      : gap.device < 0 ? "nothing traced ran"
                                                       : "no kernel ran"),
                          gap.energy, gap.time, 0, gap.energy ? std::string(joulery::name_of(gap.quality)) : ""));
  }

  const ToldProfile* told_;
  const ProfileAccount* account_;
  std::size_t most_;
  const TextStyle* style_;
  std::vector<TableRow> rows_;
};

std::string energy_words(const ToldProfile& told) {
  const ProfileAccount& account = told.account;
  if (told.recording.empty()) return "time alone: without --recording FILE nothing is known of energy";
  if (!account.energy) return "time alone: the recording knows no energy of this time";
  return fmt::format("{}{}, {}; operators by {}", account.partial ? "at least " : "", to_text(*account.energy), name_of(account.quality),
                     account.how);
}

}  // namespace

std::string profile_text(const ToldProfile& told, std::size_t rows, const TextStyle& asked) {
  TextStyle style = asked;
  style.width = std::max(40, style.width);
  const Profile& profile = told.profile;
  std::string out = Tables(told, rows, style).text() + "\n";
  out += labelled("Trace",
                  fmt::format("{}: {}{}{}, {} events over {}", printable(told.trace, style.unicode), profile.format,
                              profile.framework.empty() ? "" : " of ", profile.framework,
                              grouped(static_cast<std::int64_t>(profile.event_count())), to_text(told.account.length)),
                  style);
  out += labelled("Energy", energy_words(told), style, told.account.energy ? Ink::strong : Ink::fair);
  if (told.clock)
    out += labelled("Clock", fmt::format("by {}, to {}: {}", name_of(told.clock->method), to_text(told.clock->error), told.clock->words),
                    style);
  for (const std::string& note : profile.notes) out += labelled("Note", note, style, Ink::fair);
  for (const std::string& note : told.account.notes) out += labelled("Note", note, style, Ink::fair);
  return out;
}

}  // namespace joulery
