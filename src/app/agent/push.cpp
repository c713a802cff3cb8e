#include "app/agent/push.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>

#include "publish/remote_write.h"

namespace joulery {
namespace {

constexpr Duration time_to_end = milliseconds(2000);

// The families of push itself, in their order.
enum Figure : std::size_t { sent_samples, failed_requests, dropped_samples, queued_bytes, damaged_bytes, last_sent };

std::vector<MetricFamily> push_families() {
  constexpr auto counter = MetricType::counter;
  constexpr auto gauge = MetricType::gauge;
  return {{"joulery_push_sent_samples_total", counter, "", "Samples that a target has taken.", {}},
          {"joulery_push_failed_requests_total",
           counter,
           "",
           "Requests that a target did not answer well, by reason; they are sent again.",
           {}},
          {"joulery_push_dropped_samples_total", counter, "", "Samples that a target will not get, by reason.", {}},
          {"joulery_push_queued_bytes", gauge, "bytes", "What waits for a target.", {}},
          {"joulery_push_damaged_bytes_total", counter, "bytes", "What was damaged in a queue's files and passed over.", {}},
          {"joulery_push_last_sent_timestamp_seconds", gauge, "seconds", "When a target took something last, since 1970.", {}}};
}

MetricValue whole(std::uint64_t value) { return MetricValue::whole(static_cast<std::int64_t>(value)); }

void add_figures(const Pusher& pusher, std::vector<MetricFamily>& families) {
  const PushCounters counters = pusher.counters();
  const QueueState queue = pusher.queue();
  const std::pair<std::string, std::string> target{"target", pusher.target().name};
  const auto by_reason = [&](Figure figure, const std::string& reason, std::uint64_t count) {
    families[figure].samples.push_back({{{"reason", reason}, target}, whole(count)});
  };
  families[sent_samples].samples.push_back({{target}, whole(counters.sent_samples)});
  for (const auto& [reason, count] : counters.failed_requests) by_reason(failed_requests, reason, count);
  by_reason(dropped_samples, "queue_full", queue.dropped_items);
  for (const auto& [reason, count] : counters.dropped_samples) by_reason(dropped_samples, reason, count);
  families[queued_bytes].samples.push_back({{target}, whole(queue.queued_bytes)});
  families[damaged_bytes].samples.push_back({{target}, whole(queue.damaged_bytes)});
  if (counters.last_sent) families[last_sent].samples.push_back({{target}, MetricValue::exact(counters.last_sent->ns / 1'000'000, 3)});
}

}  // namespace

Pusher::Pusher(PushTarget target, const PushIdentity& identity, std::unique_ptr<FrameQueue> queue, HttpClient client)
    : target_(std::move(target)), labels_(target_.labels), start_(identity.start), queue_(std::move(queue)), client_(std::move(client)) {
  resource_ = {identity.host_name, identity.host_id, identity.version, target_.labels};
  labels_.emplace("instance", identity.host_name);
  labels_.emplace("job", "joulery");
  sender_ = std::make_unique<PushSender>(
      target_, *queue_, [this](const HttpCall& request, Duration limit) { return send(request, limit); }, std::random_device()());
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

Result<std::unique_ptr<Pusher>> Pusher::start(PushTarget target, const PushIdentity& identity, std::string folder) {
  QueueOptions options{.folder = std::move(folder), .most_bytes = target.most_queued_bytes};
  options.items_in = samples_in;
  auto queue = FrameQueue::open(std::move(options));
  if (!queue) return std::unexpected(queue.error());
  auto client = HttpClient::make(std::move(target.access));
  if (!client) return fail(ErrorCode::unsupported, client.error().what, "agent.push." + target.name, client.error().remedy);
  return std::unique_ptr<Pusher>(new Pusher(std::move(target), identity, *std::move(queue), *std::move(client)));
}

Pusher::~Pusher() {
  last_ns_ = (mono_now() + time_to_end).ns;
  thread_.request_stop();
  wake_.notify_all();
}

void Pusher::offer(const NodeAccount& account, std::span<const MetricFamily> families, MonoTime now, WallTime at) {
  next_ = std::max(next_ + target_.interval, now + nanoseconds(target_.interval.base_units() / 2));  // late once is not late for ever
  if (target_.kind == PushKind::otlp) {
    std::vector<MetricFamily> all = hardware_families(account, resource_.host_name);
    all.insert(all.end(), families.begin(), families.end());
    const std::vector<MetricFamily> gone = gone_.since_last(all);
    all.insert(all.end(), gone.begin(), gone.end());
    const OtlpBytes request = otlp_request(all, resource_, start_, at);
    queue_->add(pack_samples(target_.kind, request.points, request.bytes));
  } else {
    const RemoteWriteBytes request = remote_write_request(families, labels_, at);
    const RemoteWriteBytes gone = remote_write_request(gone_.since_last(families), labels_, at);
    queue_->add(pack_samples(target_.kind, request.samples + gone.samples, request.bytes + gone.bytes));
  }
  const std::scoped_lock lock(mutex_);
  more_ = true;
  wake_.notify_all();
}

Answer<HttpReply> Pusher::send(const HttpCall& request, Duration limit) {
  const std::int64_t last = last_ns_;
  return client_.send(request, last ? std::clamp(MonoTime{last} - mono_now(), Duration{}, limit) : limit);
}

// False where the thread shall stop. Without a pause it waits for something to send.
bool Pusher::wait(const std::stop_token& stop, std::optional<Duration> pause) {
  std::unique_lock lock(mutex_);
  if (pause)
    wake_.wait_for(lock, stop, std::chrono::nanoseconds(pause->base_units()), [] { return false; });
  else
    wake_.wait(lock, stop, [this] { return more_; });
  more_ = false;
  return !stop.stop_requested();
}

void Pusher::run(const std::stop_token& stop) {
  std::optional<Duration> pause;
  while (wait(stop, pause)) {
    do pause = sender_->step();
    while (pause == Duration{} && !stop.stop_requested());
  }
  if (pause && *pause > Duration{}) return;  // the target is away
  do pause = sender_->step();
  while (pause == Duration{} && mono_now().ns < last_ns_);
}

Result<std::unique_ptr<PushService>> PushService::start(const Settings& settings, const PushIdentity& identity, const std::string& folder,
                                                        std::vector<std::string>& warnings) {
  auto targets = read_push_targets(settings, warnings);
  if (!targets) return std::unexpected(targets.error());
  std::unique_ptr<PushService> service(new PushService(identity.version));
  for (PushTarget& target : *targets) {
    const std::string queue = folder + "/" + target.name;
    auto pusher = Pusher::start(std::move(target), identity, queue);
    if (!pusher) return std::unexpected(pusher.error());
    service->pushers_.push_back(*std::move(pusher));
    service->told_.emplace_back();
  }
  return service;
}

bool PushService::due(MonoTime now, bool last) const {
  return std::ranges::any_of(pushers_, [&](const auto& pusher) { return last || pusher->due(now); });
}

void PushService::offer(const NodeAccount& account, MonoTime now, WallTime at, bool last) {
  if (!due(now, last)) return;
  const std::vector<MetricFamily> families = metrics_.of(account);
  for (const auto& pusher : pushers_)
    if (last || pusher->due(now)) pusher->offer(account, families, now, at);
}

std::vector<MetricFamily> PushService::metrics() const {
  std::vector<MetricFamily> families = push_families();
  for (const auto& pusher : pushers_) add_figures(*pusher, families);
  std::erase_if(families, [](const MetricFamily& family) { return family.samples.empty(); });
  return families;
}

std::vector<std::string> PushService::news() {
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < pushers_.size(); ++i) {
    const QueueState queue = pushers_[i]->queue();
    const std::string trouble = !queue.trouble.empty() ? queue.trouble : pushers_[i]->counters().trouble;
    if (trouble.empty() == told_[i].empty()) continue;
    lines.push_back(fmt::format("push to {}: {}", pushers_[i]->target().name, trouble.empty() ? "all is well again" : trouble));
    told_[i] = trouble;
  }
  return lines;
}

}  // namespace joulery
