// `joulery serve-watch`: what a model server's answers cost, without touching its code.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "app/agent_notes.h"
#include "app/command.h"
#include "app/run_opening.h"
#include "app/serve/proxied_server.h"
#include "app/serve/scraped_server.h"
#include "app/serve/serve_options.h"
#include "app/serve/serve_session.h"
#include "core/units.h"
#include "factors/carbon.h"
#include "publish/numbers.h"
#include "publish/progress.h"
#include "publish/serving.h"
#include "sense/meters.h"
#include "watch/signal_gate.h"

namespace joulery {
namespace {

constexpr Duration flush_period =
    milliseconds(980);  // a kill loses the last second at most, and rounds are handed on some milliseconds late

int refuse(const Error& error) { return complain("serve-watch", error, error.code == ErrorCode::usage ? exit_usage : 1); }

// PUE as given, or as the place's provider publishes it.
std::optional<double> pue_of(const FactorChoice& factors) {
  if (factors.pue) return factors.pue;
  CarbonChoice choice;
  if (!factors.place.empty()) choice.place = factors.place;
  const auto factor = choose_carbon_factor(choice);
  return factor && factor->pue.note.empty() ? std::optional(factor->pue.value) : std::nullopt;
}

class Watch {
 public:
  Watch(ServeOptions options, SignalGate gate) : o_(std::move(options)), gate_(std::move(gate)), machine_(o_.sysroot) {}

  int run() {
    if (const auto code = prepare()) return *code;
    if (!o_.recording.empty()) return judge_recording();
    if (const auto opened = server_->open(); !opened) return refuse(opened.error());
    const int code = watch();
    forget();
    return code;
  }

 private:
  std::optional<int> prepare() {
    const auto style = style_for(o_.form, STDOUT_FILENO);
    if (!style) return complain("serve-watch", style.error(), exit_usage);
    style_ = *style;
    if (const auto there = check_sysroot(o_.sysroot); !there) return complain("serve-watch", there.error(), exit_usage);
    auto settings = settings_with(o_.factors, o_.sets);
    if (!settings) return complain("serve-watch", settings.error(), exit_usage);
    settings_ = *std::move(settings);
    auto choices = choices_from(settings_, o_.factors.estimate);
    if (!choices) return complain("serve-watch", choices.error(), exit_usage);
    choices_ = *std::move(choices);
    return o_.recording.empty() ? choose_server() : std::nullopt;
  }

  std::optional<int> choose_proxy() {
    const auto colon = o_.proxy.rfind(':');
    if (colon == std::string::npos || colon + 1 == o_.proxy.size() || o_.proxy.ends_with(']'))
      return complain("serve-watch", {ErrorCode::usage, "the proxy needs a port", o_.proxy, "--proxy 127.0.0.1:8001"}, exit_usage);
    auto upstream = Upstream::open(o_.upstream, o_.trust);
    if (!upstream) return complain("serve-watch", upstream.error(), exit_usage);
    const auto listen = ListenAddress::parse(colon == 0 ? "127.0.0.1" + o_.proxy : o_.proxy);
    if (!listen) return complain("serve-watch", listen.error(), exit_usage);
    server_ = std::make_unique<ProxiedServer>(*listen, *std::move(upstream), o_.log);
    return std::nullopt;
  }

  std::optional<int> choose_server() {
    if (!o_.proxy.empty()) return choose_proxy();
    std::string warning;
    auto choice = o_.server.empty() ? server_at(o_.endpoint) : read_server(settings_, o_.server, warning);
    if (!choice) return complain("serve-watch", choice.error(), exit_usage);
    if (!warning.empty()) complain("serve-watch", {ErrorCode::permission, warning, "", ""}, 0);
    if (!o_.kind.empty()) choice->kind = find_server_kind(o_.kind);
    if (o_.every) choice->interval = *o_.every;
    server_ = std::make_unique<ScrapedServer>(*std::move(choice), o_.requests);
    return std::nullopt;
  }

  RunFacts facts(const Discovery& discovery) const {
    const std::string& watched = !o_.proxy.empty() ? o_.upstream : !o_.endpoint.empty() ? o_.endpoint : o_.server;
    RunFacts facts = facts_beforehand({"serve-watch", watched}, o_.interval, machine_, discovery, choices_);
    facts.notes = agent_notes(discovery.devices);
    return facts;
  }

  int watch() {
    Discovery discovery = discover(machine_, settings_, Look::quick);
    RunFacts known = facts(discovery);
    const auto path = recording_path();
    if (!path) return refuse(path.error());
    recording_ = *path;
    auto session = ServeSession::start(std::move(discovery.devices), recording_, std::move(known));
    if (!session) return refuse(session.error());
    const MonoTime begin = mono_now();
    if (o_.baseline > Duration{}) {
      if (gate_.next_request_to_end(begin + o_.baseline)) return give_up(**session);
      (*session)->set_baseline({begin, mono_now()});
    }
    const bool answered = wait_for_server(**session);
    if (!answered) (*session)->begin(begin);
    if (answered) attend(**session);
    const MonoTime end = server_->finish(**session);
    clear_line();
    if (const auto closed = (*session)->stop(end); !closed) return refuse(closed.error());
    if (!answered) return refuse({ErrorCode::not_found, "the server never answered", o_.endpoint, server_->so_far().trouble});
    return tell();
  }

  int give_up(ServeSession& session) {
    (void)session.stop(mono_now());
    std::error_code ignored;
    if (!o_.no_save) std::filesystem::remove(recording_, ignored);
    return 130;
  }

  std::optional<MonoTime> deadline(MonoTime begin) const { return o_.duration ? std::optional(begin + *o_.duration) : std::nullopt; }

  // Until it first answers. False where it never did.
  bool wait_for_server(ServeSession& session) {
    const std::optional<MonoTime> until = deadline(mono_now());
    bool told = false;
    while (true) {
      if (const auto at = server_->first(session)) {
        session.begin(*at);
        return true;
      }
      if (!std::exchange(told, true))
        complain("serve-watch", {ErrorCode::not_found, "the server does not answer yet", o_.endpoint, server_->so_far().trouble}, 0);
      const MonoTime next = until ? std::min(server_->next(), *until) : server_->next();
      if (gate_.next_request_to_end(next) || (until && mono_now() >= *until)) return false;
    }
  }

  // Until Ctrl-C, or the time is over.
  void attend(ServeSession& session) {
    const std::optional<MonoTime> until = deadline(session.begun());
    MonoTime next_flush = mono_now() + flush_period;
    std::string last_trouble;
    while (true) {
      const MonoTime next = std::min(server_->next(), next_flush);
      if (gate_.next_request_to_end(until ? std::min(next, *until) : next)) return;
      const MonoTime now = mono_now();
      if (until && now >= *until) return;
      if (now >= server_->next()) server_->look(session);
      if (now < next_flush) continue;
      next_flush = mono_now() + flush_period;
      if (const auto flushed = session.flush(); !flushed && last_trouble != flushed.error().what) {
        last_trouble = flushed.error().what;
        complain("serve-watch", flushed.error(), 0);
      }
      show_line(session);
    }
  }

  void show_line(ServeSession& session) {
    if (o_.quiet || ::isatty(STDERR_FILENO) != 1) return;
    const LiveEnergy::Told burnt = session.burnt();
    const ServedSoFar so_far = server_->so_far();
    std::string line = progress_line(mono_now() - session.begun(), burnt.energy, burnt.power, style_);
    if (!so_far.trouble.empty()) line += "  " + so_far.trouble;
    if (so_far.tokens_out) line += fmt::format("  {} tokens", grouped(to_whole(*so_far.tokens_out)));
    if (so_far.requests) line += fmt::format("  {} requests", grouped(to_whole(*so_far.requests)));
    if (burnt.energy && so_far.tokens_out && *so_far.tokens_out > 0)
      line += fmt::format("  {} J/token", compact(to_joules(*burnt.energy) / *so_far.tokens_out));
    put(stderr, std::string(progress_clear) + line);
  }
  void clear_line() const {
    if (!o_.quiet && ::isatty(STDERR_FILENO) == 1) put(stderr, progress_clear);
  }

  int tell() {
    const auto run = LoadedRun::load(recording_, choices_);
    if (!run) return refuse(run.error());
    const auto report = server_->report(*run, pue_of(choices_.factors));
    if (!report) return refuse(report.error());
    const int code = print(*report);
    if (!o_.no_save && !o_.form.json) put(stdout, fmt::format("\n  Recording  {}\n", recording_));
    return code;
  }

  int judge_recording() {
    const auto run = LoadedRun::load(o_.recording, choices_);
    if (!run) return refuse(run.error());
    const auto log = read_requests(o_.requests);
    if (!log) return refuse(log.error());
    RequestReport judged = report_of_requests(*run, log->requests, {}, pue_of(choices_.factors));
    if (log->bad_lines > 0)
      judged.report.flags.push_back(fmt::format("lines of the log left out: {}, first {}", log->bad_lines, log->first_trouble));
    if (!o_.log.empty()) {
      std::ofstream file(o_.log, std::ios::trunc);
      for (std::size_t i = 0; i < log->requests.size(); ++i) file << request_line(log->requests[i], &judged.shares[i], "", 0);
      if (!file.flush()) return refuse({ErrorCode::io, "cannot write the log", o_.log, ""});
    }
    return print(judged.report);
  }

  int print(const ServingReport& report) const {
    const std::string text = o_.form.json ? serving_json(report) : serving_text(report, style_);
    return put(stdout, text) ? 0 : refuse(error_from_errno(errno, "cannot write", "standard output"));
  }

  Result<std::string> recording_path() const {
    if (o_.no_save) return passing_recording();
    return o_.output.empty() ? new_recording("serve-watch") : Result<std::string>(o_.output);
  }

  void forget() const {
    if (o_.no_save && !recording_.empty()) forget_passing(recording_);
  }

  ServeOptions o_;
  SignalGate gate_;
  Machine machine_;
  Settings settings_;
  ReportChoices choices_;
  TextStyle style_;
  std::unique_ptr<WatchedServer> server_;
  std::string recording_;
};

}  // namespace

int serve_watch_command(std::vector<std::string> arguments) {
  ServeOptions options;
  if (const auto code = parse_serve_options(std::move(arguments), options)) return *code;
  auto gate = SignalGate::open();
  if (!gate) return complain("serve-watch", gate.error(), 1);
  return Watch(std::move(options), std::move(*gate)).run();
}

}  // namespace joulery
