#include "app/serve/scraped_server.h"

#include <algorithm>

namespace joulery {
namespace {

// The sum over all models; nothing where no model has it.
std::optional<double> sum_of(const CountedWindow& window, std::optional<double> ModelCounts::* what) {
  std::optional<double> sum;
  for (const auto& [model, counts] : window.models)
    if (counts.*what) sum = sum.value_or(0) + *(counts.*what);
  return sum;
}

}  // namespace

Result<void> ScrapedServer::open() {
  url_ = choice_.url;
  interval_ = choice_.interval;
  auto scraper = ServerScraper::open(std::move(choice_));
  if (!scraper) return std::unexpected(scraper.error());
  scraper_.emplace(*std::move(scraper));
  return {};
}

// One look; when it was, where it brought something.
std::optional<MonoTime> ScrapedServer::take(ServeSession& session) {
  next_ = mono_now() + interval_;
  auto look = scraper_->look();
  if (!look) {
    so_far_.trouble = look.error().what + (look.error().remedy.empty() ? "" : " (" + look.error().remedy + ")");
    return std::nullopt;
  }
  so_far_.trouble.clear();
  server_ = look->page.kind->title;
  counted_.tokens_in_reason = look->page.no_tokens_in;
  counted_.tokens_out_reason = look->page.no_tokens_out;
  counted_.requests_reason = look->page.no_requests;
  last_good_ = look->at;
  if (auto window = follower_.take(look->at, look->page)) {
    if (session.begun() != MonoTime{}) add_work(*window, session);
    counted_.windows.push_back(*std::move(window));
  }
  return look->at;
}

void ScrapedServer::add_work(const CountedWindow& window, ServeSession& session) {
  if (!window.gap.empty()) {
    session.note("server-restarted: " + window.gap);
    return;
  }
  so_far_.book({sum_of(window, &ModelCounts::tokens_in), sum_of(window, &ModelCounts::tokens_out), sum_of(window, &ModelCounts::requests)},
               window.when.end, session);
  if (const auto running = sum_of(window, &ModelCounts::running)) session.add_figure("requests in work", *running, window.when.end);
}

std::optional<MonoTime> ScrapedServer::first(ServeSession& session) { return take(session); }

void ScrapedServer::look(ServeSession& session) { (void)take(session); }

MonoTime ScrapedServer::finish(ServeSession& session) {
  const auto at = take(session);
  if (at) return *at;
  counted_.silence = "the server did not answer any more: " + so_far_.trouble;
  return mono_now();
}

Result<ServingReport> ScrapedServer::report(const LoadedRun& run, std::optional<double> pue) {
  const ServingNames names{url_, server_};
  if (requests_.empty()) return report_of_counts(run, counted_, names, pue);
  const auto log = read_requests(requests_);
  if (!log) return std::unexpected(log.error());
  ServingReport report = report_of_requests(run, log->requests, names, pue).report;
  if (log->bad_lines > 0)
    report.flags.push_back("lines of the log left out: " + std::to_string(log->bad_lines) + ", first " + log->first_trouble);
  return report;
}

}  // namespace joulery
