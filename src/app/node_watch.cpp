#include "app/node_watch.h"

#include <sys/stat.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "app/measurement.h"
#include "ledger/attribution/accelerator_use.h"
#include "ledger/attribution/reserved_shares.h"
#include "ledger/gap_reason.h"
#include "ledger/timeline.h"
#include "watch/proc_stat.h"

namespace joulery {

// What the sampler's threads leave for the tick: the last rounds, and who used which accelerator.
class NodeWatch::Rounds final : public RoundConsumer {
 public:
  void open(std::vector<RecordedDevice> devices) {
    constexpr std::size_t kept = 16;  // a counter that fell is told from one that stumbled by what comes next
    users_.resize(devices.size());
    last_good_.resize(devices.size());
    window_ = std::make_unique<LiveWindow>(std::move(devices), kept);
  }
  const LiveWindow& window() const { return *window_; }

  void take(const Round& round) override {
    window_->take(round);
    const auto good = std::ranges::find_if(round.readings, &Reading::ok);
    if (good == round.readings.end()) return;
    const std::lock_guard lock(mutex_);
    last_good_[round.device] = good->after;
  }
  void missed(std::size_t, MonoTime, std::int64_t) override {}
  void suspended(const Suspension& suspension) override { window_->suspended(suspension); }
  void processes(std::size_t device, MonoTime at, std::span<const DeviceProcess> users) override {
    const std::lock_guard lock(mutex_);
    users_[device] = {at, {users.begin(), users.end()}};
  }
  std::optional<MonoTime> last_good(std::size_t device) const {
    const std::lock_guard lock(mutex_);
    return last_good_[device];
  }
  // A device that has told nothing since `since` has no users.
  std::vector<DeviceProcess> users(MonoTime since) const {
    const std::lock_guard lock(mutex_);
    std::vector<DeviceProcess> all;
    for (const auto& [at, users] : users_)
      if (at >= since) all.insert(all.end(), users.begin(), users.end());
    return all;
  }

 private:
  std::unique_ptr<LiveWindow> window_;
  mutable std::mutex mutex_;
  std::vector<std::pair<MonoTime, std::vector<DeviceProcess>>> users_;
  std::vector<std::optional<MonoTime>> last_good_;
};

namespace {

// Mean utilisation over `when` of every component that tells it, by path.
std::map<std::string, double> utilisations(const MemoryRecording& recording, Interval when) {
  std::map<std::string, double> means;
  for (std::size_t d = 0; d < recording.devices().size(); ++d) {
    const auto& channels = recording.devices()[d].channels;
    const auto told = [](const Channel& c) { return c.measurand == Measurand::utilisation && c.name == "utilisation"; };
    if (std::ranges::none_of(channels, told)) continue;
    const auto series = recording.series(d);
    if (!series) continue;
    for (std::size_t c = 0; c < channels.size(); ++c) {
      if (!told(channels[c])) continue;
      double sum = 0, count = 0;
      const auto& [raw, reason] = series->columns[c];
      for (std::size_t i = 0; i < raw.size(); ++i) {
        const bool ok = reason.empty() || reason[i] == MissingReason::none;
        if (!ok || series->after[i] <= when.begin || when.end < series->before[i]) continue;
        sum += static_cast<double>(raw[i]) * channels[c].unit;
        count += 1;
      }
      if (count > 0) means[channels[c].component.path()] = std::clamp(sum / count, 0.0, 1.0);
    }
  }
  return means;
}

ComponentReading reading_of(const Ledger& ledger, const Row& row, Interval when) {
  const Span span = ledger.energy(row, when);
  ComponentReading reading{row.component, row.meter, row.quality, std::nullopt, row.reason, std::nullopt, row.overlap};
  if (span.energy && !span.partial)
    reading.energy = span.energy->value;
  else
    reading.reason = gap_reason(row, when);
  return reading;
}

bool tells_memory(const Device& device) {
  return std::ranges::any_of(device.meter->channels(),
                             [](const Channel& channel) { return driver_of(channel.component) == Driver::memory; });
}

}  // namespace

NodeWatch::NodeWatch(NodeWatchPlan plan, std::vector<Device> devices, std::unique_ptr<CpuAccount> cpu, Workloads workloads)
    : plan_(std::move(plan)),
      devices_(std::move(devices)),
      cpu_(std::move(cpu)),
      workloads_(std::move(workloads)),
      rounds_(std::make_unique<Rounds>()),
      sampler_(devices_, plan_.interval, *rounds_),
      memory_(plan_.root),
      counts_memory_(std::ranges::any_of(devices_, tells_memory)),
      accounts_(mono_now(), plan_.idle, plan_.linger) {
  rounds_->open(recorded_devices(devices_, sampler_));
  if (plan_.idle == IdlePolicy::reserved) reservations_.emplace(plan_.root, plan_.threads);
}

NodeWatch::~NodeWatch() { sampler_.stop(); }

void NodeWatch::start() {
  sampler_.start();
  until_ = rounds_->window().complete_until();
  (void)cpu_->read();
  if (counts_memory_) memory_.look();  // a crowd is taken in step by step: the first step need not wait for a tick
}

void NodeWatch::stop() { sampler_.stop(); }

bool NodeWatch::tick() {
  const MonoTime now = rounds_->window().complete_until();
  if (now <= until_ || now == MonoTime{INT64_MAX}) return false;
  const NodeTick tick = judge({until_, now});
  until_ = now;
  std::vector<ProcessId> ended;
  for (const ProcessTick& process : tick.processes)
    if (process.ended) ended.push_back(process.id);
  workloads_.forget(ended);
  const std::lock_guard lock(mutex_);
  accounts_.add(tick);
  return true;
}

NodeAccount NodeWatch::account() const {
  NodeAccount account;
  this->account(account);
  return account;
}

void NodeWatch::account(NodeAccount& into) const {
  const std::lock_guard lock(mutex_);
  accounts_.account(into);
}

std::vector<NodeWatch::DeviceState> NodeWatch::device_states() const {
  std::vector<DeviceState> states;
  for (std::size_t d = 0; d < devices_.size(); ++d) {
    DeviceState state{devices_[d].kind, devices_[d].name, {}, std::nullopt};
    for (const Channel& channel : devices_[d].meter->channels())
      if (std::ranges::find(state.components, channel.component.path()) == state.components.end())
        state.components.push_back(channel.component.path());
    if (const auto last = rounds_->last_good(d)) state.age = mono_now() - *last;
    states.push_back(std::move(state));
  }
  return states;
}

NodeTick NodeWatch::judge(Interval when) {
  NodeTick tick;
  tick.when = when;
  tick.method = cpu_->method();
  const auto uses = cpu_->read();
  row_of_.clear();
  if (uses) add_processes(*uses, tick);
  if (counts_memory_) add_memory(uses ? *uses : CpuUses{}, tick);
  Duration used = tick.unattributed_cpu;
  for (const ProcessTick& process : tick.processes) used += process.use.cpu;
  const double available = to_seconds(when.length()) * plan_.threads;
  add_components(rounds_->window().recording(when), when, std::clamp(to_seconds(used) / available, 0.0, 1.0), tick);
  if (reservations_) add_reservations(*reservations_, tick);
  return tick;
}

void NodeWatch::add_components(const MemoryRecording& recording, Interval when, double cpu_use, NodeTick& tick) {
  const auto timeline = Timeline::from(recording, plan_.threads);
  if (!timeline) return;
  const Ledger ledger(*timeline, plan_.model, plan_.fill, plan_.missing);
  const std::map<std::string, double> busy = utilisations(recording, when);
  for (const Row& row : ledger.rows()) {
    ComponentReading reading = reading_of(ledger, row, when);
    const bool accelerator = driver_of(row.component) == Driver::accelerator;
    const auto of = busy.find(row.component.path());
    StaticPower& learner = static_power_[row.component.path()];
    if (reading.energy && (!accelerator || of != busy.end()))
      learner.observe(accelerator ? of->second : cpu_use, *reading.energy / when.length());
    if (const auto idle = learner.value(); idle && reading.energy) reading.idle = *idle * when.length();
    tick.components.push_back(std::move(reading));
  }
  const std::vector<DeviceProcess> users = rounds_->users(when.begin - seconds(3));
  counts_memory_ = false;
  for (std::size_t c = 0; c < tick.components.size(); ++c) {
    if (tick.components[c].overlap) continue;
    const Driver driver = driver_of(tick.components[c].component);
    counts_memory_ = counts_memory_ || driver == Driver::memory;
    if (driver != Driver::accelerator) continue;
    for (const auto& [pid, weight] : accelerator_use(tick.components[c].component, users, busy).weights)
      if (const auto process = process_of(static_cast<std::int32_t>(pid)))
        process_at(*process, tick).use.accelerators.emplace_back(c, weight);
  }
}

void NodeWatch::add_processes(const CpuUses& uses, NodeTick& tick) {
  workloads_.learn(uses.cgroups);
  tick.unattributed_cpu = uses.unattributed;
  tick.processes.reserve(uses.processes.size());
  for (const CpuUse& use : uses.processes) {
    ConsumerUse consumed;
    consumed.cpu = use.cpu;
    row_of_.try_emplace(use.id.pid, tick.processes.size());
    tick.processes.push_back({use.id, use.name, workloads_.of(use), std::move(consumed), use.ended});
  }
}

// Those that only hold memory, and are known to the accounts, are told by the least that says so: they are the crowd.
void NodeWatch::add_memory(const CpuUses& uses, NodeTick& tick) {
  for (const CpuUse& use : uses.processes) memory_.ran(use);
  for (auto& [pid, holder] : memory_.look()) {
    if (holder.bytes == 0) continue;
    if (std::exchange(holder.introduced, true) && !row_of_.contains(pid)) {
      tick.held.push_back({holder.id, holder.bytes});
      continue;
    }
    CpuUse use;
    use.id = holder.id;
    use.parent = holder.parent;
    use.user = holder.user;
    use.name = holder.name;
    process_at(use, tick).use.memory = holder.bytes;
  }
}

// The row of a process in this tick. One that used no CPU may hold memory, or use an accelerator.
ProcessTick& NodeWatch::process_at(const CpuUse& use, NodeTick& tick) {
  const auto [found, is_new] = row_of_.try_emplace(use.id.pid, tick.processes.size());
  if (!is_new && tick.processes[found->second].id == use.id) return tick.processes[found->second];
  found->second = tick.processes.size();
  return tick.processes.emplace_back(ProcessTick{use.id, use.name, workloads_.of(use), {}, false});
}

// What the kernel says of a process that a device names; nothing where it has ended, or is in a place that we do not see.
std::optional<CpuUse> NodeWatch::process_of(std::int32_t pid) const {
  const std::string folder = plan_.root + "/proc/" + std::to_string(pid);
  const auto stat = read_proc_stat(folder + "/stat");
  struct stat about{};
  if (!stat || ::stat(folder.c_str(), &about) != 0) return std::nullopt;
  CpuUse use;
  use.user = about.st_uid;
  use.id = {pid, stat->start_ticks};
  use.parent = stat->parent;
  use.name = stat->name;
  return use;
}

std::map<std::string, std::string> NodeWatch::learnt() const {
  std::map<std::string, std::string> all;
  for (const auto& [component, power] : static_power_) all[component] = power.to_text();
  return all;
}

void NodeWatch::restore(const std::map<std::string, std::string>& learnt) {
  for (const auto& [component, text] : learnt) static_power_[component].restore(text);
}

}  // namespace joulery
