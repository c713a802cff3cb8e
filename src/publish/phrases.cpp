#include "publish/phrases.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <map>
#include <utility>

#include "core/units.h"
#include "publish/numbers.h"
#include "publish/reasons.h"
#include "publish/utf8.h"

namespace joulery {
namespace {

struct FlagWords {
  std::string_view flag;
  bool warning;
  std::string_view sentence;
};

// A flag may carry a detail after a colon: "suspended: 12 s". Unknown flags are warnings, shown as they are.
constexpr FlagWords flag_words[] = {
    {"vm-share", true, "This is a virtual machine: its estimates are its own share of the host."},
    {"ambiguous-wrap", true, "A counter may have wrapped more than once between two readings; the least that fits is counted."},
    {"suspended", true, "The machine was suspended during the run; that time is not in the duration and its energy is not counted."},
    {"not-ended", true, "The recording ends before the command did: the figures cover what was kept."},
    {"marks-unheard", true, "Marks of some processes were not heard: there was no room for their ring in shared memory."},
    {"marks-unreadable", true, "A ring of marks could not be read; its marks are lost."},
    {"gpus-visible", false, "The command can see some of the GPUs alone; the energy of all is counted."},
    {"gpus-unclear", true, "Which GPUs the command can see is not certain."},
    {"gpu-shared", true, "A GPU is partitioned (MIG): its energy is the whole board's, which the command shares with other slices."},
    {"power-limit", true, "A power limit was not held to the end of the run."},
    {"by-agent", false, "The agent of this node read meters for this run."},
    {"counter-fell", true, "An energy counter began again during the run, as after a driver was loaded anew or a device reset."},
    {"sources-disagree", true, "Two meters of one component differ by more than their errors allow; the first is counted."},
    {"parts-exceed-whole", true, "Meters of parts show more energy than the meter of the whole that holds them; the parts are counted."},
    {"cpu-assumed", true, "The estimate does not know this processor: it uses the average of all families."},
    {"tdp-assumed", false, "The estimate assumes this processor's thermal design power from its family."},
    {"family-by-numbers", false, "The estimate tells the processor's family by its numbers, not by its name."},
    {"size-assumed", false, "The estimate assumes how big the machine is that this processor stands in."},
    {"memory-share", false, "A limit on memory holds here: the estimate counts that share of the machine's memory."},
    {"sensor-resonance", true, "The steps keep the pace of a power sensor that sees a part of the time: its interval is wider."},
    {"counter-not-believed", true,
     "An energy counter differs from its device's power by more than a factor of three; the power is counted."},
    {"sensor-gain", false, "A power sensor is corrected by what a meter showed."},
    {"sensor-unknown", true, "The log does not name the card: its power sensor is taken as one that averages over a second."},
    {"sensor-window-from-readings", false, "The readings show that the power sensor does not average over a second."},
    {"gpu-unnamed", false, "The log tells no cards apart: all its lines are taken as one card's."},
    {"imported", false, "This recording was made of another tool's log."},
    {"clock-of-the-log", false, "Times are the log's times of day: a step of that clock is not seen."},
    {"no-wall-clock", false, "The log holds no time of day: when it was is not known."},
    {"clock-went-back", true, "The log's clock went back; what lies before it again is left out."},
    {"lines-left-out", true, "Lines of the log are no readings and were left out."},
    {"times-assumed", true, "The log holds no times: its snapshots are taken as evenly spaced."},
    {"codecarbon-values", true, "CodeCarbon's figures are measured or estimated, and its file does not say which: all count as estimated."},
    {"slurm-exclusive", true, "Slurm's energy is that of whole nodes: it is the job's own only where it had them to itself."},
    {"covered-by-sibling", false, "A second die of a card shows no power of its own: its sibling's holds it."},
    {"rows-left-out", true, "The log holds earlier runs, which are left out."},
    {"counted-once", false, "A recording was given twice and is counted once."},
    {"shared-host", false, "Recordings of one host share its joules, which are counted once."},
    {"steps-not-common", true, "The hosts' steps do not go together: their clocks are laid on each other by the time of day."},
    {"mixed-boundary", true, "Some hosts are counted at the wall and others at the node."},
    {"calibrated", false, "The estimate is calibrated with what a wall meter showed."},
};

const FlagWords* words_of(const std::string& flag) {
  const std::string_view name = std::string_view(flag).substr(0, flag.find(':'));
  const auto at = std::ranges::find(flag_words, name, &FlagWords::flag);
  return at == std::end(flag_words) ? nullptr : at;
}

Note flag_note(const std::string& flag) {
  const FlagWords* words = words_of(flag);
  if (!words) return {true, printable(flag)};
  const std::size_t colon = flag.find(':');
  if (colon == std::string::npos) return {words->warning, std::string(words->sentence)};
  const std::size_t detail = flag.find_first_not_of(": ", colon);
  return {words->warning, fmt::format("{} ({})", words->sentence, printable(detail == std::string::npos ? "" : flag.substr(detail)))};
}

// The signals that end programs, by number (POSIX and Linux on x86 and ARM).
constexpr std::pair<int, std::string_view> signal_names[] = {{1, "SIGHUP"},   {2, "SIGINT"},   {3, "SIGQUIT"},  {4, "SIGILL"},
                                                             {6, "SIGABRT"},  {7, "SIGBUS"},   {8, "SIGFPE"},   {9, "SIGKILL"},
                                                             {11, "SIGSEGV"}, {13, "SIGPIPE"}, {14, "SIGALRM"}, {15, "SIGTERM"}};

std::string seconds_text(double value) { return to_text(seconds(value)); }

// Grams without "CO2e", for the ends of an interval.
std::string grams_text(double value) {
  std::string text = to_text(grams(value));
  return text.substr(0, text.find(" CO2e"));
}

void add_gap_notes(const Report& report, std::vector<Note>& out) {
  struct Sum {
    std::int64_t count = 0;
    double total = 0, first = 0;
  };
  std::map<std::pair<std::string, bool>, Sum> sums;
  for (const ReportGap& gap : report.sampling.gaps) {
    Sum& sum = sums[{gap.reason, gap.energy_lost}];
    if (sum.count++ == 0 || gap.begin_s < sum.first) sum.first = gap.begin_s;
    sum.total += gap.end_s - gap.begin_s;
  }
  for (const auto& [key, sum] : sums) {
    const std::string when = sum.count == 1 ? fmt::format("A gap of {} at {}", seconds_text(sum.total), seconds_text(sum.first))
                                            : fmt::format("{} of {} in all, from {} on", counted(sum.count, "gap"), seconds_text(sum.total),
                                                          seconds_text(sum.first));
    const std::string_view energy = key.second ? "Its energy is not counted." : "Its energy is counted: the meter ran on.";
    out.push_back({key.second, fmt::format("{}: {}. {}", when, printable(key.first), energy)});
  }
}

// Rows that are estimated or derived for the same reason share one sentence.
void add_reason_notes(const Report& report, std::vector<Note>& out) {
  std::vector<std::pair<std::string, std::string>> grouped_rows;
  for (const ReportComponent& c : report.components) {
    if (c.reason.empty() || !c.joules || c.quality == Quality::missing) continue;
    const std::string reason = fmt::format("{}, {}", name_of(c.quality), printable(c.reason));
    auto at = std::find_if(grouped_rows.begin(), grouped_rows.end(), [&](const auto& g) { return g.first == reason; });
    if (at == grouped_rows.end())
      grouped_rows.emplace_back(reason, printable(c.label));
    else
      at->second += ", " + printable(c.label);
  }
  for (const auto& [reason, labels] : grouped_rows) out.push_back({false, fmt::format("{}: {}.", labels, reason)});
}

bool needs_quotes(std::string_view word) {
  if (word.empty()) return true;
  for (const char c : word)
    if (std::string_view(" \t\n\"'\\$`*?[]{}()<>|&;#!~").find(c) != std::string_view::npos) return true;
  return false;
}

std::string plural(const std::string& unit, double count) { return count == 1 || unit.ends_with('s') ? unit : unit + "s"; }

std::string units_of(const ReportWork& work) { return plural(printable(work.unit), 2); }

}  // namespace

std::vector<Note> notes(const Report& report) {
  std::vector<Note> out;
  for (const std::string& missing : report.energy.missing) out.push_back({true, "Not counted: " + printable(missing) + "."});
  if (report.energy.partial && report.energy.missing.empty())
    out.push_back({true, "The total is partial: something that burns is not in it."});
  add_gap_notes(report, out);
  if (const auto& s = report.sampling; s.missed > 0)
    out.push_back({true, fmt::format("{} of {} missed.", grouped(s.missed), counted(s.rounds + s.missed, "round"))});
  if (report.steps.marks_lost > 0)
    out.push_back(
        {true, fmt::format("{} lost: the figures of steps and work cover those that arrived.", counted(report.steps.marks_lost, "mark"))});
  for (const std::string& flag : report.flags) out.push_back(flag_note(flag));
  add_reason_notes(report, out);
  std::ranges::stable_partition(out, [](const Note& note) { return note.warning; });
  return out;
}

std::string headline(const Report& report) {
  if (!report.energy.joules) return "missing: " + printable(reason_of(report.energy));
  const Energy value = report.energy.joules->value;
  return fmt::format("{}{} ({})", report.energy.partial ? "at least " : "", to_text(value), watt_hours(value));
}

std::string interval_words(const Report& report) {
  if (!report.energy.joules) return {};
  return fmt::format("90 % between {} and {}", to_text(report.energy.joules->low), to_text(report.energy.joules->high));
}

std::string known_words(const Report& report) {
  std::array<Energy, 4> sums{};
  Energy total{};
  for (const ReportComponent& c : report.components) {
    if (c.overlap || !c.joules || c.quality == Quality::missing) continue;
    sums[static_cast<std::size_t>(c.quality)] += c.joules->value;
    total += c.joules->value;
  }
  if (!report.energy.joules || total <= Energy{}) return std::string(name_of(report.energy.quality));
  std::string words;
  for (std::size_t q = 0; q < sums.size(); ++q) {
    if (sums[q] == total) return std::string(name_of(static_cast<Quality>(q)));
    if (sums[q] == Energy{}) continue;
    words += fmt::format("{}{} {}", words.empty() ? "" : ", ", name_of(static_cast<Quality>(q)), percent(sums[q] / total));
  }
  return words;
}

std::string command_words(const std::vector<std::string>& command) {
  std::string words;
  for (const std::string& word : command) {
    std::string quoted;
    for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
    (words += words.empty() ? "" : " ") += printable(needs_quotes(word) ? "'" + quoted + "'" : word);
  }
  return words;
}

std::string exit_words(const Report& report) {
  const auto says = [&](std::string_view name) {
    return std::ranges::any_of(report.flags, [&](const std::string& flag) { return flag.starts_with(name); });
  };
  if (!report.exit_code) return says("imported:") ? "from a log" : "did not finish";
  for (const auto& [number, name] : signal_names)
    if (*report.exit_code == 128 + number) return fmt::format("exit {} ({})", *report.exit_code, name);
  return fmt::format("exit {}", *report.exit_code);
}

std::string baseline_words(const ReportBaseline& baseline, const ReportEnergy& energy) {
  if (!baseline.joules) return "missing: " + printable(reason_of(baseline));
  std::string words = fmt::format("{} in the same time", to_text(*baseline.joules));
  if (baseline.watts) words += fmt::format(" ({})", to_text(watts(*baseline.watts)));
  if (!baseline.source.empty()) words += ", " + printable(baseline.source);
  if (!energy.joules || energy.partial) return words;
  const Energy above = energy.joules->value - *baseline.joules;
  return words +
         (above < Energy{} ? fmt::format("; the run used {} less", to_text(-above)) : fmt::format("; {} above idle", to_text(above)));
}

std::string power_limit_label(const ReportPowerLimit& limit) { return limit.name.empty() ? limit.path : limit.path + ":" + limit.name; }

std::string power_limit_words(const ReportPowerLimit& limit) {
  std::string words = fmt::format("{} W", compact(limit.watts));
  if (limit.asked_watts != limit.watts) words += fmt::format(" (asked for {} W)", compact(limit.asked_watts));
  if (limit.enforced_watts && *limit.enforced_watts != limit.watts)
    words += fmt::format(", of which the driver keeps to {} W", compact(*limit.enforced_watts));
  words += fmt::format(" instead of {} W{}: ", compact(limit.before_watts), limit.by == "agent" ? ", through the agent" : "");
  words += limit.joules ? to_text(*limit.joules) : "energy missing: " + printable(limit.reason);
  if (limit.mean_watts) words += fmt::format(", {} mean", to_text(watts(*limit.mean_watts)));
  if (!limit.changed.empty()) words += "; " + printable(limit.changed);
  return words;
}

std::string carbon_words(const ReportCarbon& carbon) {
  std::string words = carbon.grams ? to_text(grams(*carbon.grams)) : "missing: " + printable(reason_of(carbon));
  if (carbon.low && carbon.high) words += fmt::format(" ({} to {})", grams_text(*carbon.low), grams_text(*carbon.high));
  words += fmt::format(" at {} g/kWh", compact(carbon.g_per_kwh));
  if (carbon.pue != 1.0) words += fmt::format(", PUE {}", to_decimal(carbon.pue));
  if (carbon.boundary == "wall") words += ", of the energy at the wall";
  if (!carbon.place.empty()) words += "; " + printable(carbon.place);
  if (carbon.year != 0) words += fmt::format(" {}", carbon.year);
  if (!carbon.source.empty()) words += ", " + printable(carbon.source);
  if (!carbon.note.empty()) words += " (" + printable(carbon.note) + ")";
  return words;
}

std::string cost_words(const ReportCost& cost) {
  return fmt::format("{} {}{}{}", compact(cost.amount), printable(cost.currency), cost.source.empty() ? "" : "; ", printable(cost.source));
}

std::string steps_words(const ReportSteps& steps) {
  const std::string count = counted(steps.count, "step");
  if (!steps.joules_median && !steps.seconds_median) return fmt::format("{}; energy missing: {}", count, printable(reason_of(steps)));
  std::string words = count + ": median ";
  words += steps.joules_median ? to_text(joules(*steps.joules_median)) : "missing (" + printable(reason_of(steps)) + ")";
  if (steps.seconds_median) words += " in " + seconds_text(*steps.seconds_median);
  if (steps.joules_p95) words += ", 95th percentile " + to_text(joules(*steps.joules_p95));
  return words;
}

std::string work_words(const ReportWork& work) {
  const std::string count = fmt::format("{} {}", compact(work.count), plural(printable(work.unit), work.count));
  if (!work.joules_per_unit) return fmt::format("{}; J per {} missing: {}", count, printable(work.unit), printable(reason_of(work)));
  std::string words = fmt::format("{}: {} J/{}", count, compact(*work.joules_per_unit), printable(work.unit));
  if (work.units_per_joule) words += fmt::format(", {} {}/J", compact(*work.units_per_joule), units_of(work));
  return words;
}

std::string rate_words(const ReportWork& work) {
  std::string words;
  if (work.kwh_per_1000) words = fmt::format("{} kWh per 1000 {}", compact(*work.kwh_per_1000), units_of(work));
  if (!work.units_per_second) return words;
  words += fmt::format("{}{} {}/s", words.empty() ? "" : "; ", compact(*work.units_per_second), units_of(work));
  if (work.units_per_second_per_watt) words += fmt::format(", {} {}/s per watt", compact(*work.units_per_second_per_watt), units_of(work));
  return words;
}

std::string gain_words(const ReportKpi& kpi) {
  if (!kpi.joules_per_point) return fmt::format("{}: {}", printable(kpi.name), printable(gain_reason_of(kpi)));
  const std::string point = *kpi.point == 1 ? "" : fmt::format(" ({:g})", *kpi.point);
  return fmt::format("{} from {:.6g} to {:.6g}: {} for each point{}", printable(kpi.name), *kpi.first, *kpi.best,
                     to_text(joules(*kpi.joules_per_point)), point);
}

std::string kpi_words(const ReportKpi& kpi) {
  const std::string value = std::isfinite(kpi.last) ? fmt::format("{:.6g}", kpi.last) : "missing (" + reason_of(kpi) + ")";
  if (!kpi.joules_at_last) return fmt::format("{} {}; energy missing: {}", printable(kpi.name), value, printable(reason_of(kpi)));
  return fmt::format("{} {} after {}", printable(kpi.name), value, to_text(joules(*kpi.joules_at_last)));
}

std::string process_words(const ReportProcess& process) {
  const std::string name = process.pid == 0 ? process.name : fmt::format("{} {}", process.pid, process.name);
  return process.host.empty() ? name : name + ", " + process.host;
}

}  // namespace joulery
