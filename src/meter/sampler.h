// Reads meters at their intervals: all fast devices in one thread, each slow device in a thread of its own, so that a
// slow meter never delays a fast one. Deadlines are absolute on the monotonic clock; one that passes unread is counted
// as missed and never made up for.
//
// A round finds cold caches and branches that nobody predicts: what it runs is marked hot throughout the program, so that the linker
// lays it side by side, and rounds that follow each other within some milliseconds are handed on together, at the cost of one.
//
// Invariant: start() returns after every device was read once, stop() after every device was read a last time and all was handed on, so an
// interval between the two lies inside every series. A slow device that has not answered a second after start() is the one
// exception: nobody waits longer for it, and its series begins when it answers.
#pragma once

#include <atomic>
#include <cstdint>
#include <semaphore>
#include <thread>
#include <vector>

#include "meter/round.h"
#include "sense/meter.h"

namespace joulery {

class Sampler {
 public:
  // Reads `devices` every `interval` (1 ms to 1 h); more often where a counter would wrap unseen, less often where a device
  // says that it is not worth it.
  // `devices` and `consumer` outlive the sampler.
  Sampler(std::vector<Device>& devices, Duration interval, RoundConsumer& consumer);
  ~Sampler();
  Sampler(const Sampler&) = delete;
  Sampler& operator=(const Sampler&) = delete;

  // Threads block all signals: they are the caller's business.
  void start();
  void stop();
  // The interval at which a device is really read.
  Duration interval_of(std::size_t device) const { return intervals_[device]; }

 private:
  // The rounds of a device that are read and not handed on yet.
  struct Batch {
    Sink sink;
    std::vector<MonoTime> deadlines;   // as many as there is room for rounds
    std::size_t rounds = 0;
    MonoTime asked{-seconds(3600).base_units()};  // when the device was last asked who uses it
  };
  struct Group {
    std::vector<std::size_t> devices;
    Duration interval;
    bool slow = false;
  };
  // Each slow device begins in its own thread; returns when all were read once, or a second has passed.
  void start_slow(std::vector<Group> slow);
  std::vector<Group> groups() const;
  [[gnu::hot]] void run(const Group& group, MonoTime first);
  [[gnu::hot]] MonoTime read(std::size_t device, MonoTime deadline);
  // False: the device was asked who uses it as well, which takes its time.
  [[gnu::hot]] bool hand_on(std::size_t device);
  void ask_for_processes(std::size_t device, MonoTime now);
  [[gnu::hot]] bool wait_until(MonoTime deadline, Duration interval);  // false: stop was asked for
  void watch_suspension(BootTime boot, MonoTime now);

  std::vector<Device>& devices_;
  RoundConsumer& consumer_;
  std::vector<Duration> intervals_;
  std::vector<Batch> batches_;                   // by device
  std::vector<std::jthread> threads_, slow_threads_;
  std::counting_semaphore<> slow_read_{0};       // released once by each slow device's thread, after its first read
  std::atomic<std::uint32_t> stop_ = 0;          // 1: stop was asked for; a futex, for a round must cost one wait and no more
  bool running_ = false;
  Duration suspended_;                           // boot minus monotonic time when last looked; first thread only
};

}  // namespace joulery
