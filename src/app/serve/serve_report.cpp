#include "app/serve/serve_report.h"

#include <fmt/format.h>

#include <span>

#include "factors/whole_file.h"
#include "ledger/serving/request_uses.h"
#include "watch/serving/otlp_spans.h"

namespace joulery {
namespace {

ServingRecord record_of(const LoadedRun& run, const ServingNames& names, std::optional<double> pue) {
  return {.timeline = run.timeline(),
          .ledger = run.ledger(),
          .begin = run.begin(),
          .cuts = {},
          .work = {},
          .from_requests = false,
          .idle = run.measured_idle(),
          .pue = pue,
          .endpoint = names.endpoint,
          .server = names.server,
          .tokens_in_reason = {},
          .tokens_out_reason = {},
          .requests_reason = {}};
}

double counted_tokens(const ModelCounts& counts) {
  return counts.tokens_in.value_or(0) + counts.tokens_out.value_or(0) + counts.requests.value_or(0);
}

// Whether a model may have worked within a window: it counted something, or had something in work at either end. Where the server
// does not tell what is in work, what the next window counts may have begun in this one.
bool may_have_worked(std::span<const CountedWindow> windows, std::size_t at, const std::string& model) {
  const auto in = [&](std::size_t i) -> const ModelCounts* {
    if (i >= windows.size()) return nullptr;
    const auto found = windows[i].models.find(model);
    return found == windows[i].models.end() ? nullptr : &found->second;
  };
  const ModelCounts *now = in(at), *before = at > 0 ? in(at - 1) : nullptr, *next = in(at + 1);
  if (!now) return false;
  if (counted_tokens(*now) > 0 || now->running.value_or(0) > 0 || (before && before->running.value_or(0) > 0)) return true;
  return !now->running && next && counted_tokens(*next) > 0;
}

void add_window(std::span<const CountedWindow> windows, std::size_t at, Interval run, ServingRecord& record) {
  const CountedWindow& window = windows[at];
  for (const auto& [model, counts] : window.models) {
    if (intersect(window.when, run).empty()) continue;
    const bool tokens = counts.tokens_in || counts.tokens_out;  // a server without tokens is told by its requests
    ServingWork work;
    work.use.prefill = work.use.decode = may_have_worked(windows, at, model) ? window.when : Interval{window.when.begin, window.when.begin};
    work.use.prefill_tokens = counts.tokens_in.value_or(0);
    work.use.decode_tokens = (tokens ? counts.tokens_out : counts.requests).value_or(0);
    work.model = model;
    work.tokens_in = counts.tokens_in;
    work.tokens_out = counts.tokens_out;
    work.requests = counts.requests;
    record.work.push_back(std::move(work));
  }
}

}  // namespace

ServingReport report_of_counts(const LoadedRun& run, const CountedServing& counted, const ServingNames& names, std::optional<double> pue) {
  ServingRecord record = record_of(run, names, pue);
  const Interval all = run.interval();
  MonoTime told = all.begin;
  for (std::size_t i = 0; i < counted.windows.size(); ++i) {
    const CountedWindow& window = counted.windows[i];
    const Interval when = intersect(window.when, all);
    if (when.empty()) continue;
    if (told < when.begin) record.cuts.push_back({{told, when.begin}, "the server had not answered yet"});
    record.cuts.push_back({when, window.gap});
    told = when.end;
    if (window.gap.empty()) add_window(counted.windows, i, all, record);
  }
  if (told < all.end || record.cuts.empty())
    record.cuts.push_back({{told, all.end}, counted.silence.empty() ? "the server did not answer" : counted.silence});
  record.tokens_in_reason = counted.tokens_in_reason;
  record.tokens_out_reason = counted.tokens_out_reason;
  record.requests_reason = counted.requests_reason;
  return judge_serving(record).report;
}

RequestReport report_of_requests(const LoadedRun& run, const std::vector<ServedRequest>& requests, const ServingNames& names,
                                 std::optional<double> pue) {
  ServingRecord record = record_of(run, names, pue);
  record.from_requests = true;
  record.cuts = even_cuts(run.timeline(), run.ledger());
  const ClockMap clocks{run.interval().begin, {}, run.begin()};
  const std::vector<ServingUse> uses = uses_of(requests, clocks);
  std::size_t outside = 0, untold = 0;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const ServedRequest& r = requests[i];
    record.work.push_back({uses[i], r.model, r.group, r.tokens_in, r.tokens_out, 1.0});
    if (uses[i].prefill.begin < run.interval().begin || uses[i].decode.end > run.interval().end) ++outside;
    if (uses[i].guessed) ++untold;
  }
  const std::string untold_reason = "the log does not tell them";
  record.tokens_in_reason = record.tokens_out_reason = requests.empty() ? "" : untold_reason;
  JudgedServing judged = judge_serving(record);
  if (outside > 0)
    judged.report.flags.push_back(fmt::format("{} of {} requests lie partly or wholly outside the recording", outside, requests.size()));
  if (untold > 0)
    judged.report.flags.push_back(
        fmt::format("{} of {} requests have no token counts: theirs are taken to be typical", untold, requests.size()));
  return {std::move(judged.report), std::move(judged.work)};
}

Result<RequestLog> read_requests(const std::string& path) {
  const auto text = read_whole_file(path, "the request log", "give a file with --requests");
  if (!text) return std::unexpected(text.error());
  RequestLog log = looks_like_otlp(*text) ? parse_otlp_spans(*text) : parse_request_log(*text);
  if (log.requests.empty())
    return fail(ErrorCode::format, log.first_trouble.empty() ? "the log has no request" : "the log has no request: " + log.first_trouble,
                path, "it must be JSON lines with start, end and token counts, or OTLP spans in JSON");
  return log;
}

}  // namespace joulery
