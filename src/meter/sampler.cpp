#include "meter/sampler.h"

#include <dlfcn.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#if __has_include(<sys/rseq.h>)
#include <sys/rseq.h>
#endif
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
#include <csignal>
#include <ctime>
#include <iterator>

#include "meter/counter.h"

namespace joulery {
namespace {

// A difference of the clocks below this is the time between reading the two.
constexpr Duration least_suspension = milliseconds(20);
constexpr Duration longest_plain_sleep = milliseconds(2);
// Who uses a device is asked about once a second: a list costs more than a round, and changes slowly.
constexpr Duration processes_period = milliseconds(950);
constexpr Duration hand_on_period = milliseconds(16);  // rounds this near each other are handed on together
constexpr std::chrono::seconds patience_at_start{1};  // with slow devices

// The boot clock is read between two looks at the monotonic one: where the thread was held up meanwhile, look again.
Duration suspended_so_far() {
  Duration suspended;
  for (int i = 0; i < 10; ++i) {
    const MonoTime before = mono_now();
    suspended = nanoseconds(boot_now().ns - before.ns);
    if (mono_now() - before < milliseconds(1)) break;
  }
  return suspended;
}

// glibc has the kernel note at each wake of a thread on which CPU it runs (restartable sequences): two cold cache lines of every
// round, for what the sampling thread never asks. Where that cannot be ended, it stays; glibc before 2.35 never began it.
void forgo_restartable_sequences() {
#ifdef RSEQ_SIG
  const auto* offset = static_cast<const std::ptrdiff_t*>(::dlsym(RTLD_DEFAULT, "__rseq_offset"));
  const auto* size = static_cast<const unsigned*>(::dlsym(RTLD_DEFAULT, "__rseq_size"));
  if (offset == nullptr || size == nullptr || *size == 0) return;
  constexpr unsigned least_registered = 32;
  char* area = static_cast<char*>(__builtin_thread_pointer()) + *offset;
  ::syscall(SYS_rseq, area, std::max(least_registered, *size), RSEQ_FLAG_UNREGISTER, RSEQ_SIG);
#endif
}

}  // namespace

Sampler::Sampler(std::vector<Device>& devices, Duration interval, RoundConsumer& consumer) : devices_(devices), consumer_(consumer) {
  for (const Device& device : devices_) {
    intervals_.push_back(std::max(device.least_interval, safe_interval(device.meter->channels(), interval)));
    const std::int64_t fit = device.slow ? 1 : hand_on_period.base_units() / intervals_.back().base_units();
    const auto rounds = static_cast<std::size_t>(std::max<std::int64_t>(fit, 1));
    batches_.push_back({Sink(device.meter->channels().size(), rounds), std::vector<MonoTime>(rounds)});
  }
}

Sampler::~Sampler() { stop(); }

// One group for the fast devices of each interval, one for each slow device.
std::vector<Sampler::Group> Sampler::groups() const {
  std::vector<Group> all;
  for (std::size_t i = 0; i < devices_.size(); ++i) {
    const auto same = std::ranges::find_if(
        all, [&](const Group& g) { return !devices_[i].slow && !devices_[g.devices.front()].slow && g.interval == intervals_[i]; });
    if (same != all.end())
      same->devices.push_back(i);
    else
      all.push_back({{i}, intervals_[i], devices_[i].slow});
  }
  return all;
}

// Returns when the last reading was over.
MonoTime Sampler::read(std::size_t device, MonoTime deadline) {
  Batch& batch = batches_[device];
  batch.sink.start();
  devices_[device].meter->read(batch.sink);
  batch.sink.finish();
  batch.sink.keep();
  batch.deadlines[batch.rounds++] = deadline;
  const MonoTime over = batch.sink.last();
  return batch.rounds < batch.deadlines.size() || hand_on(device) ? over : mono_now();
}

bool Sampler::hand_on(std::size_t device) {
  Batch& batch = batches_[device];
  if (batch.rounds == 0) return true;
  for (std::size_t i = 0; i < batch.rounds; ++i) consumer_.take({device, batch.deadlines[i], batch.sink.round(i)});
  const MonoTime last = batch.deadlines[batch.rounds - 1];
  batch.rounds = 0;
  batch.sink.clear();
  if (last - batch.asked < processes_period) return true;
  ask_for_processes(device, last);
  return false;
}

void Sampler::ask_for_processes(std::size_t device, MonoTime now) {
  batches_[device].asked = now;
  std::vector<DeviceProcess> users;
  devices_[device].meter->processes(users);
  if (!users.empty()) consumer_.processes(device, mono_now(), users);
}

void Sampler::start() {
  suspended_ = suspended_so_far();
  running_ = true;
  sigset_t every, before;
  sigfillset(&every);
  pthread_sigmask(SIG_SETMASK, &every, &before);
  std::vector<Group> fast = groups(), slow;
  const auto first_slow = std::stable_partition(fast.begin(), fast.end(), [](const Group& group) { return !group.slow; });
  slow.assign(std::make_move_iterator(first_slow), std::make_move_iterator(fast.end()));
  fast.erase(first_slow, fast.end());
  start_slow(std::move(slow));
  const MonoTime now = mono_now();
  for (const Group& group : fast)
    for (const std::size_t device : group.devices) {
      read(device, now);
      hand_on(device);
    }
  for (Group& group : fast) threads_.emplace_back([this, group = std::move(group), now] { run(group, now + group.interval); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void Sampler::start_slow(std::vector<Group> slow) {
  for (Group& group : slow)
    slow_threads_.emplace_back([this, group = std::move(group)] {
      const MonoTime now = mono_now();
      read(group.devices.front(), now);
      slow_read_.release();
      run(group, std::max(now + group.interval, mono_now()));
      read(group.devices.front(), mono_now());
    });
  const auto limit = std::chrono::steady_clock::now() + patience_at_start;
  for (std::size_t i = 0; i < slow_threads_.size() && slow_read_.try_acquire_until(limit); ++i) continue;
}

void Sampler::stop() {
  if (!running_) return;
  stop_ = 1;
  ::syscall(SYS_futex, &stop_, FUTEX_WAKE_PRIVATE, INT_MAX);
  threads_.clear();  // joins
  const MonoTime now = mono_now();
  for (std::size_t i = 0; i < devices_.size(); ++i) {
    if (devices_[i].slow) continue;
    read(i, now);
    hand_on(i);
  }
  slow_threads_.clear();  // each reads its device a last time
  running_ = false;
}

// A wait is one system call, where a condition variable takes two. A stop need not cut a short wait off, and plain sleep
// costs least; a long one is a futex with an absolute time limit on CLOCK_MONOTONIC.
bool Sampler::wait_until(MonoTime deadline, Duration interval) {
  static_assert(sizeof stop_ == sizeof(std::uint32_t) && std::atomic<std::uint32_t>::is_always_lock_free);
  const timespec limit{deadline.ns / 1'000'000'000, deadline.ns % 1'000'000'000};
  if (interval <= longest_plain_sleep) {
    // The bare call: the library's also arms and disarms cancellation. All signals are blocked: nothing interrupts it.
    ::syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, TIMER_ABSTIME, &limit, nullptr);
    return stop_ == 0;
  }
  while (stop_ == 0) {
    const long woken = ::syscall(SYS_futex, &stop_, FUTEX_WAIT_BITSET_PRIVATE, 0, &limit, nullptr, FUTEX_BITSET_MATCH_ANY);
    if (woken != 0 && errno == ETIMEDOUT) break;
  }
  return stop_ == 0;
}

// `boot` was read before `now`, so that being held up between the two looks like less suspension, never like more.
void Sampler::watch_suspension(BootTime boot, MonoTime now) {
  const Duration total = nanoseconds(boot.ns - now.ns);
  if (total - suspended_ < least_suspension) return;
  consumer_.suspended({now, total - suspended_});
  suspended_ = total;
}

void Sampler::run(const Group& group, MonoTime first) {
  forgo_restartable_sequences();
  const bool first_group = group.devices.front() == 0;
  MonoTime looked{};  // at the clocks, for a suspension
  for (MonoTime deadline = first; wait_until(deadline, group.interval);) {
    MonoTime now;
    for (const std::size_t device : group.devices) now = read(device, deadline);
    if (first_group && deadline - looked >= least_suspension) {
      const BootTime boot = boot_now();
      now = mono_now();
      watch_suspension(boot, now);
      looked = deadline;
    }
    deadline = deadline + group.interval;
    // A deadline that is half an interval past or more is gone; one that is less late is still met.
    const std::int64_t late = (now - deadline).base_units(), interval = group.interval.base_units();
    const std::int64_t passed = late < 0 ? 0 : (late + interval / 2) / interval;
    if (passed == 0) continue;
    deadline = deadline + nanoseconds(passed * interval);
    for (const std::size_t device : group.devices) {
      hand_on(device);
      consumer_.missed(device, deadline, passed);
    }
  }
}

}  // namespace joulery
