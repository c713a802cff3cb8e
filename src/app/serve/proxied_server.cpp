#include "app/serve/proxied_server.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

#include "app/command_line.h"
#include "core/units.h"
#include "ledger/serving/request_uses.h"
#include "publish/serving.h"

namespace joulery {
namespace {

constexpr Duration look_period = milliseconds(250), remembered = milliseconds(300'000);
constexpr std::size_t most_requests = 2'000'000;

}  // namespace

ProxiedServer::~ProxiedServer() {
  if (log_ && log_ != stdout) std::fclose(log_);
}

Result<void> ProxiedServer::open() {
  if (!log_path_.empty()) {
    log_ = log_path_ == "-" ? stdout : std::fopen(log_path_.c_str(), "ae");
    if (!log_) return std::unexpected(error_from_errno(errno, "cannot write the log", log_path_));
  }
  auto proxy = RequestProxy::start(listen_, upstream_);
  if (!proxy) return std::unexpected(proxy.error());
  proxy_ = *std::move(proxy);
  put(stderr, fmt::format("joulery serve-watch: proxy at http://{} for {}\n", proxy_->address(), upstream_.url()));
  return {};
}

std::optional<MonoTime> ProxiedServer::first(ServeSession& session) {
  slots_ = std::make_unique<LiveSlots>(session.facts(), remembered);
  const MonoTime now = mono_now();
  next_ = now + look_period;
  return now;
}

void ProxiedServer::look(ServeSession& session) {
  next_ = mono_now() + look_period;
  slots_->advance(session.window(), session.begun());
  if (slots_->watts()) proxy_->set_active_power(std::max(0.0, *slots_->watts() - slots_->least_watts().value_or(0)));
  take_ended(session);
  settle(false);
}

void ProxiedServer::take_ended(ServeSession& session) {
  for (ProxiedRequest& ended : proxy_->take_ended()) {
    if (!ended.trouble.empty()) {
      ++failures_;
      if (ended.status == 0 && !ended.work && ended.trouble != last_trouble_) {
        last_trouble_ = ended.trouble;
        put(stderr, fmt::format("joulery serve-watch: {}\n", ended.trouble));
      }
    }
    if (!ended.work) {
      write_line(ended, nullptr);
      continue;
    }
    const ServedRequest& r = ended.request;
    so_far_.book({r.tokens_in, r.tokens_out, 1}, ended.end, session);
    if (requests_.size() < most_requests) requests_.push_back(r);
    recent_.push_back(r);
    unsettled_.push_back(std::move(ended));
  }
}

// Those whose time the meters have told by now get their joules, as far as the costs are known by now; requests that are still
// in work are not in it yet, so this is a first word.
void ProxiedServer::settle(bool all) {
  const auto until = slots_->until();
  const ClockMap clocks = ClockMap::now();
  const auto ready = [&](const ProxiedRequest& one) { return all || (until && one.end <= *until); };
  if (!log_ || unsettled_.empty() || !ready(unsettled_.front())) return;
  if (until) {
    const WallTime oldest = clocks.to_wall(slots_->slots().front().when.begin);
    while (recent_.size() > unsettled_.size() && recent_.front().end < oldest) recent_.pop_front();
  }
  const std::vector<ServedRequest> recent(recent_.begin(), recent_.end());
  const ServingFacts facts{
      .idle_accelerator_watts = {}, .idle_host_watts = {}, .quality = slots_->quality(), .relative_error = slots_->relative_error()};
  const ServingShares shares = share_serving(slots_->slots(), uses_of(recent, clocks), facts);
  for (std::size_t i = recent.size() - unsettled_.size(); i < recent.size() && ready(unsettled_.front()); ++i) {
    const bool known = until.has_value() && slots_->quality() != Quality::missing;
    write_line(unsettled_.front(), known ? &shares.uses[i] : nullptr);
    unsettled_.pop_front();
  }
  std::fflush(log_);
}

void ProxiedServer::write_line(const ProxiedRequest& request, const SharedJoules* share) {
  if (!log_) return;
  const std::string line = request_line(request.request, share, request.tokens_source, request.status);
  std::fwrite(line.data(), 1, line.size(), log_);
}

MonoTime ProxiedServer::finish(ServeSession& session) {
  const MonoTime end = mono_now();
  if (!slots_) return end;
  proxy_->stop();
  slots_->advance(session.window(), session.begun());
  take_ended(session);
  settle(true);
  if (log_) std::fflush(log_);
  return std::max(end, mono_now());
}

Result<ServingReport> ProxiedServer::report(const LoadedRun& run, std::optional<double> pue) {
  RequestReport judged = report_of_requests(run, requests_, {upstream_.url(), ""}, pue);
  if (failures_ > 0) judged.report.flags.push_back(fmt::format("{} requests had no whole answer", failures_));
  if (requests_.size() == most_requests) judged.report.flags.push_back("more requests than are kept: the last are not told");
  return std::move(judged.report);
}

}  // namespace joulery
