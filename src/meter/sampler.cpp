#include "meter/sampler.h"

#include <algorithm>
#include <chrono>
#include <csignal>

#include "meter/counter.h"

namespace joulery {
namespace {

// A difference of the clocks below this is the time between reading the two.
constexpr Duration least_suspension = milliseconds(20);

Duration suspended_so_far() { return nanoseconds(boot_now().ns - mono_now().ns); }

}  // namespace

Sampler::Sampler(std::vector<Device>& devices, Duration interval, RoundConsumer& consumer) : devices_(devices), consumer_(consumer) {
  for (const Device& device : devices_) {
    intervals_.push_back(std::max(device.least_interval, safe_interval(device.meter->channels(), interval)));
    sinks_.emplace_back(device.meter->channels().size());
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
      all.push_back({{i}, intervals_[i]});
  }
  return all;
}

void Sampler::read(std::size_t device, MonoTime deadline) {
  Sink& sink = sinks_[device];
  sink.start();
  devices_[device].meter->read(sink);
  sink.finish();
  consumer_.take({device, deadline, sink.readings()});
}

void Sampler::start() {
  suspended_ = suspended_so_far();
  running_ = true;
  sigset_t every, before;
  sigfillset(&every);
  pthread_sigmask(SIG_SETMASK, &every, &before);
  const MonoTime now = mono_now();
  for (std::size_t i = 0; i < devices_.size(); ++i) read(i, now);
  for (Group& group : groups()) threads_.emplace_back([this, group = std::move(group), now] { run(group, now + group.interval); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void Sampler::stop() {
  if (!running_) return;
  {
    const std::scoped_lock lock(mutex_);
    stop_ = true;
  }
  stopping_.notify_all();
  threads_.clear();  // joins
  const MonoTime now = mono_now();
  for (std::size_t i = 0; i < devices_.size(); ++i) read(i, now);
  running_ = false;
}

bool Sampler::wait_until(MonoTime deadline) {
  std::unique_lock lock(mutex_);
  const std::chrono::steady_clock::time_point until{std::chrono::nanoseconds(deadline.ns)};
  return !stopping_.wait_until(lock, until, [this] { return stop_; });
}

void Sampler::watch_suspension(MonoTime now) {
  const Duration total = suspended_so_far();
  if (total - suspended_ < least_suspension) return;
  consumer_.suspended({now, total - suspended_});
  suspended_ = total;
}

void Sampler::run(const Group& group, MonoTime first) {
  const bool first_group = group.devices.front() == 0;
  for (MonoTime deadline = first; wait_until(deadline);) {
    for (const std::size_t device : group.devices) read(device, deadline);
    if (first_group) watch_suspension(mono_now());
    deadline = deadline + group.interval;
    // A deadline that is half an interval past or more is gone; one that is less late is still met.
    const std::int64_t late = (mono_now() - deadline).base_units(), interval = group.interval.base_units();
    const std::int64_t passed = late < 0 ? 0 : (late + interval / 2) / interval;
    if (passed == 0) continue;
    deadline = deadline + nanoseconds(passed * interval);
    for (const std::size_t device : group.devices) consumer_.missed(device, deadline, passed);
  }
}

}  // namespace joulery
