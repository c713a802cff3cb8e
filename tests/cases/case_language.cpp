#include "case_language.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>
#include <stdexcept>

#include "core/units.h"

namespace joulery::cases {
namespace {

[[noreturn]] void refuse(const std::string& text) { throw std::runtime_error(text); }

// "15.3uJ" as SI base units of its own kind, finer than a microjoule where need be.
double si(std::string_view text) {
  static const std::map<std::string_view, double> factors{{"J", 1.0},   {"mJ", 1e-3}, {"uJ", 1e-6}, {"nJ", 1e-9}, {"kJ", 1e3}, {"W", 1.0},
                                                          {"mW", 1e-3}, {"uW", 1e-6}, {"s", 1.0},   {"ms", 1e-3}, {"us", 1e-6}};
  double number = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  const auto factor = factors.find(text.substr(static_cast<std::size_t>(end - text.data())));
  if (failed != std::errc{} || factor == factors.end()) refuse(fmt::format("not a quantity: {}", text));
  return number * factor->second;
}

std::int64_t whole(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed != std::errc{} || end != text.data() + text.size()) refuse(fmt::format("not a whole number: {}", text));
  return value;
}

std::string without_comma(const std::string& text) { return text.substr(0, text.find(',')); }

constexpr std::int64_t origin_ns = 1'000'000'000'000;  // a case's 0s: an uptime like any other
MonoTime instant(std::string_view text) { return {origin_ns + seconds(si(text)).base_units()}; }
Interval interval(std::string_view text) {
  const auto dots = text.find("..");
  if (dots == std::string_view::npos) refuse(fmt::format("not an interval: {}", text));
  return {instant(text.substr(0, dots)), instant(text.substr(dots + 2))};
}

const std::map<std::string_view, MissingReason> reasons{{"failed", MissingReason::io_error},  {"denied", MissingReason::permission},
                                                        {"rubbish", MissingReason::rubbish},  {"gone", MissingReason::gone},
                                                        {"lost", MissingReason::device_lost}, {"unsupported", MissingReason::not_supported},
                                                        {"timeout", MissingReason::timed_out}};

// One case while it is told: meters and their readings, then expectations against the ledger made of them.
class Teller {
 public:
  explicit Teller(const Case& told) : case_(told) {}

  std::vector<std::string> tell() {
    for (const Line& line : case_.lines) {
      try {
        line.words[0] == "expect" ? judge(line) : arrange(line);
      } catch (const std::exception& problem) { failures_.push_back(fmt::format("{}:{}: {}", case_.file, line.number, problem.what())); }
    }
    return failures_;
  }

 private:
  using Words = std::vector<std::string>;

  void arrange(const Line& line) {
    const Words& w = line.words;
    if (w[0] == "meter") return add_meter(w);
    if (w[0] == "at") return add_reading(instant(w.at(1)), w.at(2));
    if (w[0] == "every") {
      for (std::int64_t i = 0; i < whole(w.at(7)); ++i)
        add_reading(instant(w.at(3)) + nanoseconds(seconds(si(w.at(1))).base_units() * i),
                    std::to_string(whole(w.at(4)) + i * whole(without_comma(w.at(6)))));
      return;
    }
    if (w[0] == "asleep")
      return sleeps_.push_back({{instant(w.at(1)), instant(w.at(1))}, "suspended", "", seconds(si(w.at(2))).base_units()});
    if (w[0] == "lacks") return missing_.push_back({Component(w.at(1)), joined(w, 3)});
    if (w[0] == "run") return void(run_ = interval(w.at(1)));
    refuse(fmt::format("no such sentence: {}", w[0]));
  }

  static std::string joined(const Words& words, std::size_t from) {
    std::string text;
    for (std::size_t i = from; i < words.size(); ++i) text += (text.empty() ? "" : " ") + words[i];
    return text;
  }

  void add_meter(const Words& w) {
    Channel channel;
    channel.component = Component(w.at(2));
    channel.name = "energy";
    channel.behaviour = w.at(3) == "counter" ? Behaviour::counter : Behaviour::gauge;
    channel.measurand = w.at(3) == "counter" ? Measurand::energy : Measurand::power;
    channel.unit = si(w.at(4));
    for (std::size_t i = 5; i < w.size(); ++i) {
      if (w[i] == "range")
        channel.range = static_cast<std::uint64_t>(whole(w.at(++i)));
      else if (w[i] == "max")
        channel.max_power = watts(si(w.at(++i)));
      else if (w[i] == "burns")
        channel.always_burns = true;
      else if (w[i] == "platform")
        channel.scope = Scope::platform;
      else if (w[i] == "accuracy")
        channel.accuracy.relative = static_cast<double>(whole(without_comma(w.at(++i)))) / 100;
      else
        refuse(fmt::format("no such word of a meter: {}", w[i]));
    }
    devices_.push_back({w.at(1), w.at(2), milliseconds(100), {channel}});
    readings_.emplace_back();
  }

  void add_reading(MonoTime t, const std::string& value) {
    if (readings_.empty()) refuse("a reading before any meter");
    const auto reason = reasons.find(value);
    readings_.back().push_back(
        {reason == reasons.end() ? whole(value) : 0, reason == reasons.end() ? MissingReason::none : reason->second, t, t});
  }

  void settle() {
    if (ledger_) return;
    MemoryRecording recording(devices_);
    for (std::size_t d = 0; d < readings_.size(); ++d)
      for (const Reading& reading : readings_[d]) recording.add(Round{d, reading.before, std::span(&reading, 1)});
    for (const RecordedEvent& sleep : sleeps_) recording.add(sleep);
    recording.set({{"run_begin_ns", std::to_string(run_.begin.ns)}, {"run_end_ns", std::to_string(run_.end.ns)}});
    auto timeline = Timeline::from(recording, 0);
    if (!timeline) refuse(timeline.error().line());
    timeline_.emplace(std::move(*timeline));
    ledger_.emplace(*timeline_, std::nullopt, Fill::none, missing_);
  }

  const Row* row(const std::string& path) const {
    for (const Row& row : ledger_->rows())
      if (row.component.path() == path) return &row;
    return nullptr;
  }
  const Row& need_row(const std::string& path) const {
    const Row* found = row(path);
    if (!found) refuse(fmt::format("no row {}", path));
    return *found;
  }
  void check(bool holds, const Line& line, const std::string& found) {
    if (!holds) failures_.push_back(fmt::format("{}:{}: expected: {}; found {}", case_.file, line.number, joined(line.words, 1), found));
  }
  void check_near(double found, double wanted, double tolerance, const Line& line) {
    check(std::abs(found - wanted) <= tolerance + 1e-9, line, to_decimal(found));
  }

  void judge(const Line& line) {
    settle();
    using Judge = void (Teller::*)(const Line&);
    static const std::map<std::string, Judge> judges{
        {"energy", &Teller::energy},   {"total", &Teller::total},     {"partial", &Teller::partial},     {"quality", &Teller::quality},
        {"counted", &Teller::counted}, {"overlap", &Teller::counted}, {"absent", &Teller::absent},       {"rows", &Teller::rows},
        {"gap", &Teller::gap},         {"gaps", &Teller::gaps},       {"ambiguous", &Teller::ambiguous}, {"power", &Teller::power},
        {"flag", &Teller::flag},       {"no-flag", &Teller::no_flag}};
    const auto found = judges.find(line.words.at(1));
    if (found == judges.end()) refuse(fmt::format("no such expectation: {}", line.words.at(1)));
    (this->*found->second)(line);
  }

  void energy(const Line& line) {
    const Span span = ledger_->energy(need_row(line.words.at(2)), run_);
    if (line.words.at(3) == "missing") return check(!span.energy, line, span.energy ? to_text(span.energy->value) : "");
    if (!span.energy) return check(false, line, "missing");
    check_near(to_joules(span.energy->value), si(line.words.at(3)), si(line.words.at(5)), line);
  }
  void power(const Line& line) {
    const Span span = ledger_->energy(need_row(line.words.at(2)), run_);
    if (!span.energy) return check(false, line, "missing");
    check_near(to_watts(span.energy->value / run_.length()), si(line.words.at(3)), si(line.words.at(5)), line);
  }
  void total(const Line& line) {
    const Total total = ledger_->total(run_);
    if (line.words.at(2) == "missing") return check(!total.energy, line, "a value");
    if (!total.energy) return check(false, line, "missing");
    check_near(to_joules(total.energy->value), si(line.words.at(2)), si(line.words.at(4)), line);
  }
  void partial(const Line& line) { check(ledger_->total(run_).partial == (line.words.at(2) == "yes"), line, "the opposite"); }
  void quality(const Line& line) {
    const std::string_view found = name_of(need_row(line.words.at(2)).quality);
    check(found == line.words.at(3), line, std::string(found));
  }
  void counted(const Line& line) { check(need_row(line.words.at(2)).overlap == (line.words[1] == "overlap"), line, "the opposite"); }
  void rows(const Line& line) {
    const auto count = std::ranges::count_if(ledger_->rows(), [&](const Row& row) { return row.component.path() == line.words.at(2); });
    check(count == whole(line.words.at(3)), line, std::to_string(count));
  }
  void absent(const Line& line) { check(!row(line.words.at(2)), line, "a row"); }
  void flag(const Line& line) {
    const std::string wanted = joined(line.words, 2);
    const auto has = [&](const std::string& flag) { return flag.starts_with(wanted); };
    check(std::ranges::any_of(ledger_->flags(), has), line, ledger_->flags().empty() ? "none" : ledger_->flags().front());
  }
  void no_flag(const Line& line) { check(ledger_->flags().empty(), line, ledger_->flags().empty() ? "" : ledger_->flags().front()); }

  // Gaps of the source, whether its row has a track or not.
  const std::vector<Gap>& gaps_of(const std::string& path) const {
    for (const EnergySource& source : timeline_->sources)
      if (source.channel.component.path() == path) return source.track.gaps();
    refuse(fmt::format("no source {}", path));
  }
  void gaps(const Line& line) {
    const auto count = static_cast<std::int64_t>(gaps_of(line.words.at(2)).size());
    check(count == whole(line.words.at(3)), line, std::to_string(count));
  }
  void gap(const Line& line) {
    const Interval when = interval(line.words.at(3));
    std::string seen = "none";
    for (const Gap& gap : gaps_of(line.words.at(2))) {
      if (gap.when == when && gap.energy_lost == (line.words.at(4) == "lost") && gap.reason.contains(joined(line.words, 5))) return;
      seen = fmt::format("{}s..{}s {} {}", static_cast<double>(gap.when.begin.ns - origin_ns) * 1e-9,
                         static_cast<double>(gap.when.end.ns - origin_ns) * 1e-9, gap.energy_lost ? "lost" : "bridged", gap.reason);
    }
    check(false, line, seen);
  }
  // expect ambiguous PATH LEAST + k * STEP, k <= N
  void ambiguous(const Line& line) {
    for (const Gap& gap : gaps_of(line.words.at(2))) {
      if (!gap.possible) continue;
      const bool holds = std::abs(to_joules(gap.possible->least) - si(line.words.at(3))) < 0.05 &&
                         std::abs(to_joules(gap.possible->step) - si(without_comma(line.words.at(7)))) < 0.05 &&
                         gap.possible->most_steps == whole(line.words.at(10));
      return check(
          holds, line,
          fmt::format("{} + k * {}, k <= {}", to_text(gap.possible->least), to_text(gap.possible->step), gap.possible->most_steps));
    }
    check(false, line, "nothing ambiguous");
  }

  const Case& case_;
  std::vector<RecordedDevice> devices_;
  std::vector<std::vector<Reading>> readings_;
  std::vector<RecordedEvent> sleeps_;
  std::vector<MissingPart> missing_;
  Interval run_;
  std::optional<Timeline> timeline_;
  std::optional<Ledger> ledger_;
  std::vector<std::string> failures_;
};

}  // namespace

std::vector<Case> read_cases(const std::string& path) {
  std::ifstream file(path);
  std::vector<Case> cases;
  std::string text;
  for (int number = 1; std::getline(file, text); ++number) {
    std::istringstream words(text.substr(0, text.find('#')));
    Line line{number, {}};
    for (std::string word; words >> word;) line.words.push_back(word);
    if (line.words.empty()) continue;
    if (line.words[0] == "case")
      cases.push_back({path.substr(path.rfind('/') + 1), text.substr(text.find_first_not_of(' ', 4)), number, {}});
    else if (cases.empty())
      refuse(fmt::format("{}:{}: a sentence before any case", path, number));
    else
      cases.back().lines.push_back(std::move(line));
  }
  return cases;
}

std::vector<std::string> failures_of(const Case& told) { return Teller(told).tell(); }

}  // namespace joulery::cases
