#include "app/agent/server_watch.h"

#include <fmt/format.h>
#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cmath>

namespace joulery {
namespace {

constexpr std::size_t most_points = 900, most_waiting = 900;
constexpr Duration recent_time = milliseconds(60'000);
constexpr const char* other_models = "(other)";

struct Counts {
  std::optional<double> tokens_in, tokens_out, requests;
};

void add(std::optional<double>& to, const std::optional<double>& more) {
  if (more) to = to.value_or(0) + *more;
}

std::optional<double> per(Energy energy, const std::optional<double>& count) {
  return count && *count > 0 ? std::optional(to_joules(energy) / *count) : std::nullopt;
}

}  // namespace

Result<std::unique_ptr<ServerWatch>> ServerWatch::start(const Settings& settings, std::vector<std::string>& warnings) {
  std::unique_ptr<ServerWatch> watch(new ServerWatch);
  for (const std::string& name : settings.names_below("servers")) {
    std::string warning;
    auto choice = read_server(settings, name, warning);
    if (!choice) return std::unexpected(choice.error());
    if (!warning.empty()) warnings.push_back(warning);
    auto scraper = ServerScraper::open(*std::move(choice));
    if (!scraper) return std::unexpected(scraper.error());
    Server& server = watch->servers_.emplace_back(*std::move(scraper));
    server.account.name = name;
    server.account.reason = "not asked yet";
  }
  // Signals are the agent's loop's business.
  sigset_t every, before;
  sigfillset(&every);
  pthread_sigmask(SIG_SETMASK, &every, &before);
  for (Server& server : watch->servers_) server.thread = std::thread([&self = *watch, &server] { self.run(server); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return watch;
}

ServerWatch::~ServerWatch() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  for (Server& server : servers_)
    if (server.thread.joinable()) server.thread.join();
}

void ServerWatch::run(Server& server) {
  const auto interval = std::chrono::nanoseconds(server.scraper.choice().interval.base_units());
  for (auto next = std::chrono::steady_clock::now();; next = std::max(next + interval, std::chrono::steady_clock::now())) {
    {
      std::unique_lock lock(mutex_);
      if (wake_.wait_until(lock, next, [this] { return stopping_; })) return;
    }
    take(server, server.scraper.look());
  }
}

void ServerWatch::take(Server& server, Answer<ServerScraper::Look> look) {
  const std::lock_guard lock(mutex_);
  ServerAccount& account = server.account;
  const bool asked = account.reason != "not asked yet";
  if (!look) {
    if (account.reason.empty() || !asked) news_.push_back(fmt::format("server {}: {}", account.name, look.error().what));
    account.reason = look.error().what;
    return;
  }
  if (!account.reason.empty() && asked) news_.push_back(fmt::format("server {}: answers", account.name));
  account.reason.clear();
  account.title = look->page.kind->title;
  auto window = server.follower.take(look->at, look->page);
  if (!window) return;
  if (!window->gap.empty()) news_.push_back(fmt::format("server {}: {}", account.name, window->gap));
  server.waiting.push_back(*std::move(window));
  if (server.waiting.size() > most_waiting) server.waiting.pop_front();
}

void ServerWatch::tick(MonoTime end, std::span<const ComponentAccount> components) {
  if (servers_.empty()) return;
  Energy sum;
  bool whole = false;
  for (const ComponentAccount& component : components) {
    for (const auto& [quality, energy] : component.energy) sum += energy;
    whole = whole || component.power;  // of the last tick
  }
  const std::lock_guard lock(mutex_);
  points_.push_back({end, sum, whole});
  if (points_.size() > most_points) points_.pop_front();
  for (Server& server : servers_) settle(server);
}

// Between two ticks power is taken to be even. Nothing where some of the time is not known.
std::optional<Energy> ServerWatch::energy_of(Interval when) const {
  const auto at = [&](MonoTime t) -> std::optional<double> {
    const auto next = std::ranges::lower_bound(points_, t, {}, &Point::at);
    if (next == points_.end()) return std::nullopt;
    if (next == points_.begin()) return next->at == t ? std::optional(static_cast<double>(next->sum.base_units())) : std::nullopt;
    const Point& last = *std::prev(next);
    if (!next->whole) return std::nullopt;
    const double share = (t - last.at) / (next->at - last.at);
    return std::lerp(static_cast<double>(last.sum.base_units()), static_cast<double>(next->sum.base_units()), share);
  };
  const auto begin = at(when.begin), end = at(when.end);
  if (!begin || !end) return std::nullopt;
  return microjoules(to_whole(*end) - to_whole(*begin));
}

void ServerWatch::settle(Server& server) {
  while (!server.waiting.empty() && server.waiting.front().when.end <= points_.back().at) {
    const CountedWindow window = std::move(server.waiting.front());
    server.waiting.pop_front();
    const auto energy = window.gap.empty() ? energy_of(window.when) : std::nullopt;
    if (energy)
      book(server, window, *energy);
    else
      server.account.lost += window.when.length();
  }
}

void ServerWatch::book(Server& server, const CountedWindow& window, Energy energy) {
  ServerAccount& account = server.account;
  account.node += energy;
  account.watched += window.when.length();
  for (const auto& [name, counts] : window.models) {
    const bool known = account.models.contains(name) || account.models.size() < most_served_models;
    ServedModel& model = account.models[known ? name : other_models];
    add(model.tokens_in, counts.tokens_in);
    add(model.tokens_out, counts.tokens_out);
    add(model.requests, counts.requests);
  }
  server.recent.emplace_back(window, energy);
  while (server.recent.front().first.when.end < window.when.end - recent_time) server.recent.pop_front();
  Counts done;
  Energy burnt;
  for (const auto& [recent, its_energy] : server.recent) {
    burnt += its_energy;
    for (const auto& [name, counts] : recent.models)
      add(done.tokens_in, counts.tokens_in), add(done.tokens_out, counts.tokens_out), add(done.requests, counts.requests);
  }
  account.joules_per_output_token = per(burnt, done.tokens_out);
  account.joules_per_token = done.tokens_in && done.tokens_out ? per(burnt, *done.tokens_in + *done.tokens_out) : std::nullopt;
  account.joules_per_request = per(burnt, done.requests);
}

std::vector<ServerAccount> ServerWatch::accounts() const {
  const std::lock_guard lock(mutex_);
  std::vector<ServerAccount> all;
  for (const Server& server : servers_) all.push_back(server.account);
  return all;
}

std::vector<std::string> ServerWatch::news() {
  const std::lock_guard lock(mutex_);
  return std::exchange(news_, {});
}

}  // namespace joulery
