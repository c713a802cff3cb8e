// `joulery log`: watts and utilisation by component, one line an interval, until stopped.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "app/agent_notes.h"
#include "app/command.h"
#include "app/command_line.h"
#include "app/live_window.h"
#include "app/measurement.h"
#include "core/units.h"
#include "ledger/gap_reason.h"
#include "ledger/utilisation.h"
#include "meter/sampler.h"
#include "publish/log_writer.h"
#include "sense/host/cpu_identity_reader.h"
#include "sense/meters.h"
#include "watch/signal_gate.h"

namespace joulery {
namespace {

constexpr std::size_t window_rounds = 64;

// Makes each line anew from the window: the same timeline and ledger that judge a recording.
class LogLines {
 public:
  LogLines(std::optional<PowerModel> model, Fill fill, std::vector<MissingPart> missing, int threads)
      : model_(std::move(model)), fill_(fill), missing_(std::move(missing)), threads_(threads) {}

  // The columns are those of the first line; they never change after.
  void settle(const Recording& recording) {
    const auto timeline = Timeline::from(recording, threads_);
    if (!timeline) return;
    const Ledger ledger(*timeline, model_, fill_, missing_);
    for (const Row& row : ledger.rows()) columns_.push_back({row.component.path(), "watts"});
    columns_.push_back({"node/cpu", "utilisation"});
  }
  const std::vector<LogColumn>& columns() const { return columns_; }

  std::vector<LogValue> values(const Recording& recording, Interval when) const {
    std::vector<LogValue> values;
    const auto timeline = Timeline::from(recording, threads_);
    if (!timeline) return values;
    const Ledger ledger(*timeline, model_, fill_, missing_);
    for (const LogColumn& column : columns_)
      values.push_back(column.quantity == "watts" ? watts_of(ledger, column.component, when) : busy_of(*timeline, when));
    return values;
  }

 private:
  static LogValue watts_of(const Ledger& ledger, const std::string& path, Interval when) {
    for (const Row& row : ledger.rows()) {
      if (row.component.path() != path) continue;
      const Span span = ledger.energy(row, when);
      if (span.energy && !span.partial) return {to_watts(span.energy->value / when.length()), ""};
      return {std::nullopt, gap_reason(row, when)};
    }
    return {std::nullopt, "no source in this interval"};
  }
  static LogValue busy_of(const Timeline& timeline, Interval when) {
    if (!timeline.cpu) return {std::nullopt, "the busy time of the CPUs cannot be read"};
    const std::vector<double> shares = utilisation(*timeline.cpu->times, timeline.cpu->busy_seconds, timeline.cpu->threads);
    for (std::size_t i = shares.size(); i-- > 1;)
      if ((*timeline.cpu->times)[i] <= when.end + milliseconds(1)) return {shares[i], ""};
    return {std::nullopt, "not read in this interval"};
  }

  std::optional<PowerModel> model_;
  Fill fill_;
  std::vector<MissingPart> missing_;
  int threads_;
  std::vector<LogColumn> columns_;
};

int stream(Discovery& discovery, LogLines lines, LogFormat format, Duration interval, const SignalGate& gate) {
  struct Late final : RoundConsumer {
    LiveWindow* window = nullptr;
    void take(const Round& round) override { window->take(round); }
    void missed(std::size_t device, MonoTime at, std::int64_t count) override { window->missed(device, at, count); }
    void suspended(const Suspension& suspension) override { window->suspended(suspension); }
  } late;
  Sampler sampler(discovery.devices, interval, late);
  LiveWindow window(recorded_devices(discovery.devices, sampler), window_rounds);
  late.window = &window;
  sampler.start();
  const MonoTime begin = window.complete_until();
  MonoTime last = begin;
  lines.settle(window.recording({last, last}));
  const LogWriter writer(lines.columns(), format);
  bool read = put(stdout, writer.header());
  for (MonoTime next = begin + interval; read; next = std::max(next + interval, mono_now())) {
    // A little after the round was due, so that it is in.
    if (gate.next_request_to_end(next + milliseconds(1))) break;
    const MonoTime now = window.complete_until();
    if (now <= last) continue;
    const Interval when{last, now};
    const ClockMap clocks = ClockMap::now();
    read = put(stdout, writer.row(clocks.to_wall(now), now - begin, lines.values(window.recording(when), when)));
    last = now;
  }
  sampler.stop();
  return 0;
}

}  // namespace

int log_command(std::vector<std::string> arguments) {
  CLI::App app("Streams time, elapsed seconds, watts and utilisation by component until stopped.", "joulery log");
  std::string interval_text = "1s", sysroot;
  bool json = false;
  FactorWords words;
  std::vector<std::string> sets;
  app.add_option("--interval", interval_text, "time between lines, 1ms to 1h (1s)")->type_name("TIME");
  app.add_flag("--json", json, "JSON lines instead of CSV");
  app.add_option("--estimate", words.estimate, "auto, all or none: which parts without a sensor to estimate")->type_name("WHICH");
  app.add_option("--sysroot", sysroot, "read meters from a tree with sys/ and proc/ in it")->type_name("DIR");
  add_set_option(app, sets);
  if (const auto code = parse(app, std::move(arguments))) return *code;
  const auto interval = parse_interval(interval_text);
  if (!interval) return complain("log", interval.error(), exit_usage);
  const auto settings = settings_with(words, sets);
  if (!settings) return complain("log", settings.error(), exit_usage);
  const auto choices = choices_from(*settings, words.estimate);
  if (!choices) return complain("log", choices.error(), exit_usage);
  auto gate = SignalGate::open();
  if (!gate) return complain("log", gate.error(), 1);
  if (const auto there = check_sysroot(sysroot); !there) return complain("log", there.error(), exit_usage);
  const Machine machine(sysroot);
  Discovery discovery = discover(machine, *settings, Look::thorough);
  const CpuIdentity cpu = read_cpu_identity(machine);
  auto model = power_model_of(cpu);
  if (!model) return complain("log", model.error(), 1);
  if (const std::string names = read_by_agent(discovery.devices); !names.empty())
    fmt::print(stderr, "joulery log: the agent of this node reads {}\n", names);
  LogLines lines(std::move(*model), choices->fill.value_or(Fill::automatic), missing_parts(discovery), cpu.threads);
  return stream(discovery, std::move(lines), json ? LogFormat::json_lines : LogFormat::csv, *interval, *gate);
}

}  // namespace joulery
