// A fleet that pushes: the accounts of many simulated nodes, each with a real queue and a real sender of its own, to one engine.
//
//   push_fleet URL KIND NODES FOLDER FIRST_MS STEP_MS BEGIN     KIND: remote-write, otlp
//
// Moment m of node n is at FIRST_MS + m * STEP_MS; BEGIN is the first moment to offer (what came before is in the queues already).
// Commands on stdin, one a line: `offer N` offers the next N moments of all nodes; `drain` waits until nothing is queued (60 s at
// most). Each is answered by one line of JSON.
//
// Component c (0 to 3) of node n has burnt, by moment m, (m + 1) * (1000003 * (c + 1) + 7919 * n) + (n * m * (c + 3)) % 1009
// microjoules: whoever asks the engine back can work out what must be there.
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <sstream>
#include <thread>

#include "app/agent/push.h"

namespace {

using namespace joulery;

constexpr const char* components[] = {"node/cpu/package-0", "node/dram/package-0", "node/gpu/0", "node/rest"};
constexpr Quality qualities[] = {Quality::measured, Quality::measured, Quality::integrated, Quality::estimated};
constexpr const char* teams[] = {"vision", "speech", "search"};

std::int64_t burnt(std::int64_t n, std::int64_t c, std::int64_t m) {
  return (m + 1) * (1'000'003 * (c + 1) + 7919 * n) + (n * m * (c + 3)) % 1009;
}

ConsumerAccount consumer(ConsumerKind kind, std::string name) {
  ConsumerAccount account;
  account.kind = kind;
  account.name = std::move(name);
  return account;
}

// A quarter is idle, a fiftieth unattributed; of the rest two thirds are the first process's, and half the job's.
NodeAccount account_of(std::int64_t n, std::int64_t m, Duration step) {
  NodeAccount account;
  account.now = MonoTime{m * step.base_units()};
  account.tick = step;
  account.method = "proc";
  auto idle = consumer(ConsumerKind::idle, ""), rest = consumer(ConsumerKind::unattributed, "");
  auto first = consumer(ConsumerKind::process, "python[1]"), second = consumer(ConsumerKind::process, "sshd[2]");
  auto job = consumer(ConsumerKind::job, fmt::format("train-{}", n % 10)), none = consumer(ConsumerKind::job, "(none)");
  for (std::int64_t c = 0; c < 4; ++c) {
    const std::int64_t all = burnt(n, c, m), used = all - all / 4 - all / 50;
    ComponentAccount part;
    part.component = components[c];
    part.meter = "stand-in";
    part.quality = qualities[c];
    part.energy[qualities[c]] = microjoules(all);
    part.power = watts(static_cast<double>(100 * (c + 1)) + static_cast<double>(n % 7));
    account.components.push_back(part);
    idle.energy.push_back(microjoules(all / 4));
    rest.energy.push_back(microjoules(all / 50));
    first.energy.push_back(microjoules(used * 2 / 3));
    second.energy.push_back(microjoules(used - used * 2 / 3));
    job.energy.push_back(microjoules(used / 2));
    none.energy.push_back(microjoules(used - used / 2));
  }
  account.consumers = {first, second, job, none, idle, rest};
  return account;
}

struct Fleet {
  std::vector<std::unique_ptr<Pusher>> pushers;
  std::vector<NodeMetrics> metrics;
  std::int64_t next = 0, first_ms = 0;
  Duration step;
};

bool make(Fleet& fleet, char** words) {
  const std::int64_t nodes = std::atoll(words[3]);
  fleet.first_ms = std::atoll(words[5]);
  fleet.step = milliseconds(std::atoll(words[6]));
  fleet.next = std::atoll(words[7]);
  for (std::int64_t n = 0; n < nodes; ++n) {
    PushTarget target;
    target.name = "engine";
    target.kind = std::strcmp(words[2], "otlp") == 0 ? PushKind::otlp : PushKind::remote_write;
    target.url = words[1];
    target.longest_pause = seconds(2);
    target.labels = {{"team", teams[n % 3]}};
    const std::string host = fmt::format("node-{:04}", n);
    const PushIdentity identity{host, fmt::format("id-{}", n), "1.2.3", WallTime{(fleet.first_ms - 1000) * 1'000'000}};
    auto pusher = Pusher::start(std::move(target), identity, fmt::format("{}/{}", words[4], host));
    if (!pusher) {
      fmt::print(stderr, "push_fleet: {}\n", pusher.error().line());
      return false;
    }
    fleet.pushers.push_back(*std::move(pusher));
    fleet.metrics.emplace_back();
  }
  return true;
}

void offer(Fleet& fleet, std::int64_t moments) {
  for (const std::int64_t end = fleet.next + moments; fleet.next < end; ++fleet.next)
    for (std::size_t n = 0; n < fleet.pushers.size(); ++n) {
      const NodeAccount account = account_of(static_cast<std::int64_t>(n), fleet.next, fleet.step);
      const WallTime at{fleet.first_ms * 1'000'000 + fleet.next * fleet.step.base_units()};
      fleet.pushers[n]->offer(account, fleet.metrics[n].of(account), mono_now(), at);
    }
}

std::string report(const Fleet& fleet) {
  std::uint64_t sent = 0, failed = 0, dropped = 0, queued = 0;
  std::string trouble;
  for (const auto& pusher : fleet.pushers) {
    const PushCounters counters = pusher->counters();
    const QueueState queue = pusher->queue();
    sent += counters.sent_samples;
    for (const auto& [reason, count] : counters.failed_requests) failed += count;
    for (const auto& [reason, count] : counters.dropped_samples) dropped += count;
    dropped += queue.dropped_items;
    queued += queue.queued_bytes;
    if (!counters.trouble.empty()) trouble = counters.trouble;
  }
  for (char& c : trouble)
    if (c == '"' || c == '\\') c = '\'';
  return fmt::format(R"({{"sent":{},"failed":{},"dropped":{},"queued_bytes":{},"moments":{},"trouble":"{}"}})", sent, failed, dropped,
                     queued, fleet.next, trouble);
}

void drain(const Fleet& fleet) {
  for (const MonoTime end = mono_now() + seconds(60); mono_now() < end; std::this_thread::sleep_for(std::chrono::milliseconds(20))) {
    std::uint64_t queued = 0;
    for (const auto& pusher : fleet.pushers) queued += pusher->queue().queued_bytes;
    if (queued == 0) return;
  }
}

}  // namespace

int main(int count, char** words) {
  if (count != 8) return 2;
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
  Fleet fleet;
  if (!make(fleet, words)) return 1;
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream in(line);
    std::string word;
    std::int64_t moments = 0;
    in >> word >> moments;
    if (word == "offer") offer(fleet, moments);
    if (word == "drain") drain(fleet);
    std::cout << report(fleet) << std::endl;
  }
  std::_Exit(0);  // as an agent that is killed
}
