#include "app/serve/serve_options.h"

#include "app/command.h"
#include "core/units.h"

namespace joulery {
namespace {

void declare(CLI::App& app, ServeOptions& o) {
  app.add_option("--endpoint", o.endpoint, "where the server tells its metrics: http://127.0.0.1:8000")->type_name("URL");
  app.add_option("--server", o.server, "a server of the configuration: [servers.NAME]")->type_name("NAME");
  app.add_option("--kind", o.kind, "what server it is, where its page alone does not tell: vllm, sglang, tgi, triton, ...")
      ->type_name("KIND");
  app.add_option("--every", o.every_text, "time between two looks at its metrics (1s)")->type_name("TIME");
  app.add_option("--proxy", o.proxy, "stand between clients and server, and time each request: 127.0.0.1:8001")->type_name("LISTEN");
  app.add_option("--upstream", o.upstream, "the server behind the proxy: http://127.0.0.1:8000, or https://")->type_name("URL");
  app.add_option("--upstream-ca", o.trust.ca_file, "who vouches for its certificate, PEM; the system's where not given")->type_name("FILE");
  app.add_flag("--upstream-insecure", o.trust.insecure,
               "take any certificate of it: whoever stands between can read and change everything");
  app.add_option("--log", o.log, "write a JSON line for each request of the proxy")->type_name("FILE");
  app.add_option("--requests", o.requests, "share the energy by this request log, or spans (OTLP as JSON)")->type_name("FILE");
  app.add_option("--recording", o.recording, "judge this recording instead of watching; with --requests")->type_name("FILE");
  app.add_option("--duration", o.duration_text, "watch for so long; until Ctrl-C where not given")->type_name("TIME");
  app.add_option("--baseline", o.baseline_text, "measure the idle server for so long first")->type_name("TIME");
  app.add_option("-o,--output", o.output, "keep the recording in this file")->type_name("FILE");
  app.add_flag("--no-save", o.no_save, "keep no recording");
  app.add_option("--interval", o.interval_text, "time between readings of the meters, 1ms to 1h (100ms)")->type_name("TIME");
  app.add_option("--sysroot", o.sysroot, "read meters from a tree with sys/ and proc/ in it")->type_name("DIR");
  app.add_flag("--json", o.form.json, "as JSON, schema joulery.serving/1");
  app.add_flag("--quiet", o.quiet, "no live line");
  app.add_option("--color", o.form.color, "auto, always or never")->type_name("WHEN");
  add_factor_options(app, o.factors);
  add_set_option(app, o.sets);
}

int wrong(std::string what, std::string where, std::string hint) {
  return complain("serve-watch", {ErrorCode::usage, std::move(what), std::move(where), std::move(hint)}, exit_usage);
}

// Sets `to` where the option was given.
std::optional<int> read_time(const std::string& text, const char* option, std::optional<Duration>& to) {
  if (text.empty()) return std::nullopt;
  const auto time = parse_duration(text);
  if (!time) return wrong(time.error().what, option, time.error().hint);
  if (*time <= Duration{}) return wrong("the time must be more than 0", option, "");
  to = *time;
  return std::nullopt;
}

std::optional<int> check_choice(const ServeOptions& o) {
  const int watched = static_cast<int>(!o.endpoint.empty()) + static_cast<int>(!o.server.empty()) + static_cast<int>(!o.proxy.empty()) +
                      static_cast<int>(!o.recording.empty());
  if (watched == 0) return wrong("nothing to watch", "", "--endpoint URL, --server NAME, or --proxy LISTEN --upstream URL");
  if (watched > 1) return wrong("only one of --endpoint, --server, --proxy and --recording", "", "");
  if (o.proxy.empty() != o.upstream.empty())
    return wrong("--proxy and --upstream belong together", "", "--proxy 127.0.0.1:8001 --upstream http://127.0.0.1:8000");
  if (o.proxy.empty() && (o.trust.insecure || !o.trust.ca_file.empty()))
    return wrong("--upstream-ca and --upstream-insecure are for --proxy", "",
                 "of a server whose metrics are watched: [servers.NAME] ca_file, insecure");
  if (!o.log.empty() && o.proxy.empty() && o.requests.empty()) return wrong("--log is for --proxy, or for --requests", "", "");
  if (!o.proxy.empty() && !o.requests.empty()) return wrong("the proxy times requests itself: --requests is for others", "", "");
  if (!o.recording.empty() && o.requests.empty()) return wrong("--recording needs --requests", "", "or joulery report FILE");
  if (!o.kind.empty() && !find_server_kind(o.kind)) {
    std::string known;
    for (const ServerKind& kind : server_kinds()) known += (known.empty() ? "" : ", ") + std::string(kind.name);
    return wrong("no such kind of server: '" + o.kind + "'", "--kind", known);
  }
  return std::nullopt;
}

}  // namespace

std::optional<int> parse_serve_options(std::vector<std::string> arguments, ServeOptions& o) {
  CLI::App app("Measures what a model server's answers cost: joules per token and request, without touching its code.",
               "joulery serve-watch");
  app.footer(
      "Examples:\n  joulery serve-watch --endpoint http://127.0.0.1:8000\n"
      "  joulery serve-watch --proxy 127.0.0.1:8001 --upstream http://127.0.0.1:8000 --log requests.jsonl");
  declare(app, o);
  if (const auto code = parse(app, std::move(arguments))) return code;
  if (const auto code = check_choice(o)) return code;
  const auto interval = parse_interval(o.interval_text);
  if (!interval) return complain("serve-watch", interval.error(), exit_usage);
  o.interval = *interval;
  std::optional<Duration> baseline;
  if (const auto code = read_time(o.every_text, "--every", o.every)) return code;
  if (const auto code = read_time(o.duration_text, "--duration", o.duration)) return code;
  if (const auto code = read_time(o.baseline_text, "--baseline", baseline)) return code;
  o.baseline = baseline.value_or(Duration{});
  return std::nullopt;
}

}  // namespace joulery
