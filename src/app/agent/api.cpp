#include "app/agent/api.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/near_names.h"
#include "publish/account_json.h"
#include "publish/json_writer.h"
#include "publish/prometheus_text.h"
#include "publish/server_metrics.h"

namespace joulery {

struct ApiPaths {
  struct Row {
    std::string_view path;
    HttpAnswer (Api::*handler)(const ApiCall&);
    std::string_view parameters;  // that it knows, with a blank around each
    std::string_view what;
  };
  static constexpr Row rows[] = {
      {"/", &Api::start_page, " ", "this list"},
      {"/metrics", &Api::metrics, " ", "everything for scrapers: Prometheus text or OpenMetrics"},
      {"/api/v1/node", &Api::node, " ", "the node by component, now and so far"},
      {"/api/v1/consumers", &Api::consumers, " kind top sort ", "who used it"},
      {"/api/v1/meters", &Api::meters, " ", "what can be read, and why not"},
      {"/api/v1/servers", &Api::servers, " ", "model servers that are watched: tokens, requests, joules"},
      {"/api/v1/health", &Api::health, " ", "how the agent does"},
      {"/api/v1/query", &Api::query, " series match from to step ", "what was stored"},
      {"/api/v1/events", &Api::events, " kind top sort ", "a summary for every tick, as server-sent events"},
  };
};

namespace {

constexpr Duration second = milliseconds(1'000), slack = milliseconds(100);

int status_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::usage:
    case ErrorCode::format: return 400;
    case ErrorCode::permission: return 403;
    case ErrorCode::not_found: return 404;
    case ErrorCode::unsupported:
    case ErrorCode::newer_format: return 501;
    case ErrorCode::busy: return 503;
    case ErrorCode::io:
    case ErrorCode::no_space:
    case ErrorCode::internal: return 500;
  }
  return 500;
}

constexpr std::string_view code_names[] = {"usage",        "not_found",   "permission", "io",   "format",
                                           "newer_format", "unsupported", "no_space",   "busy", "internal"};

std::vector<std::string> words(std::string_view text) {
  std::vector<std::string> found;
  std::size_t begin = 0;
  while ((begin = text.find_first_not_of(' ', begin)) != std::string_view::npos) {
    const auto end = std::min(text.find(' ', begin), text.size());
    found.emplace_back(text.substr(begin, end - begin));
    begin = end;
  }
  return found;
}

std::optional<Error> unknown_parameter(const HttpRequest& request, std::string_view known) {
  const auto names = words(known);
  for (const auto& [name, value] : request.parameters) {
    if (std::ranges::find(names, name) != names.end()) continue;
    const std::string nearest = nearest_name(name, names);
    return Error{ErrorCode::usage, fmt::format("no parameter is called '{}'", name), request.path,
                 names.empty()     ? "this path takes none"
                 : nearest.empty() ? fmt::format("it takes{}", known)
                                   : fmt::format("did you mean '{}'?", nearest)};
  }
  return std::nullopt;
}

}  // namespace

HttpAnswer error_answer(int status, const Error& error) {
  JsonWriter json(0);
  json.begin_object().key("schema").text("joulery.error/1").key("error").begin_object();
  json.key("code").text(code_names[static_cast<std::size_t>(error.code)]);
  json.key("what").text(error.what);
  json.key("where").text_or_null(error.where);
  json.key("hint").text_or_null(error.hint);
  json.end_object().end_object();
  HttpAnswer answer;
  answer.status = status;
  answer.body = json.str() + "\n";
  if (status == 401) answer.headers.emplace_back("WWW-Authenticate", "Bearer realm=\"joulery\"");
  if (status == 405) answer.headers.emplace_back("Allow", "GET, HEAD");
  if (status == 503) answer.headers.emplace_back("Retry-After", "1");
  return answer;
}

HttpAnswer error_answer(const Error& error) { return error_answer(status_of(error.code), error); }

HttpAnswer not_ready() { return error_answer({ErrorCode::busy, "the first tick is not over yet", "", "ask again in a second"}); }

Api::Api(Access access, const NodeView& node, HistorySource* history, std::string version)
    : access_(std::move(access)),
      view_(node),
      history_(history),
      version_(std::move(version)),
      exact_{0, {}, NodeMetrics({.version = version_})},
      open_{0, {}, NodeMetrics({.version = version_})} {}

void Api::refresh_exact() {
  const std::uint64_t newest = view_.generation();
  if (newest == exact_.generation) return;
  view_.account(exact_.account);
  exact_.generation = newest;
}

void Api::refresh_open() {
  const std::uint64_t newest = view_.generation();
  const MonoTime now = mono_now();
  if (newest == open_.generation || (open_.generation != 0 && now < open_may_change_)) return;
  view_.account(open_.account);
  rounded_.round(open_.account);
  open_.generation = newest;
  // Once a second in the mean; a tick that comes a little early is not put off to the next.
  open_may_change_ = std::max(open_may_change_ + second, now + second - slack);
}

const NodeAccount* Api::account(bool trusted) {
  trusted ? refresh_exact() : refresh_open();
  const Snapshot& snapshot = trusted ? exact_ : open_;
  return snapshot.generation == 0 ? nullptr : &snapshot.account;
}

HttpAnswer Api::answer(const HttpRequest& request, bool loopback) {
  const Access::Verdict verdict = access_.judge(request, loopback);
  if (verdict.status != 0) return error_answer(verdict.status, {ErrorCode::permission, verdict.why, "", verdict.hint});
  if (request.method != "GET" && request.method != "HEAD")
    return error_answer(405, {ErrorCode::usage, "the agent is only asked, never told: " + request.method, request.path, "use GET"});
  const auto* row = std::ranges::find(ApiPaths::rows, std::string_view(request.path), &ApiPaths::Row::path);
  if (row == std::end(ApiPaths::rows)) {
    std::vector<std::string> paths;
    for (const ApiPaths::Row& one : ApiPaths::rows) paths.emplace_back(one.path);
    const std::string nearest = nearest_name(request.path, paths);
    return error_answer({ErrorCode::not_found, "there is nothing here", request.path,
                         nearest.empty() ? "/ lists what there is" : "did you mean " + nearest + "?"});
  }
  if (const auto unknown = unknown_parameter(request, row->parameters)) return error_answer(*unknown);
  return (this->*row->handler)({request, verdict.trusted});
}

HttpAnswer Api::refusal(int status, std::string_view why) {
  return error_answer(status, {status >= 500 ? ErrorCode::busy : ErrorCode::usage, std::string(why), "", ""});
}

HttpAnswer Api::start_page(const ApiCall&) {
  HttpAnswer answer;
  answer.content_type = "text/plain; charset=utf-8";
  answer.body = fmt::format("joulery agent {}\n\n", version_);
  for (const ApiPaths::Row& row : ApiPaths::rows) answer.body += fmt::format("{:<20} {}\n", row.path, row.what);
  return answer;
}

HttpAnswer Api::metrics(const ApiCall& call) {
  if (!account(call.trusted)) return not_ready();
  const std::string* accept = call.request.header("accept");
  const ScrapeFormat format = scrape_format(accept ? *accept : "");
  Snapshot& snapshot = call.trusted ? exact_ : open_;
  HttpAnswer answer;
  answer.content_type = content_type(format);
  answer.headers.emplace_back("Vary", "Accept, Authorization");
  std::vector<MetricFamily> families = snapshot.metrics.of(snapshot.account);
  std::ranges::move(server_metrics(view_.servers(), !call.trusted), std::back_inserter(families));
  answer.body = scrape_text(families, format);
  return answer;
}

HttpAnswer Api::node(const ApiCall& call) {
  const NodeAccount* now = account(call.trusted);
  if (!now) return not_ready();
  HttpAnswer answer;
  answer.body = node_json(*now, !call.trusted);
  return answer;
}

}  // namespace joulery
