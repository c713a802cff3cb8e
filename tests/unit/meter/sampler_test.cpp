#include "meter/sampler.h"

#include <gtest/gtest.h>

#include <map>
#include <thread>

namespace joulery {
namespace {

// A meter of one channel that counts its reads and may take its time.
class CountingMeter final : public Meter {
 public:
  explicit CountingMeter(Duration takes = {}, int slow_read = -1) : takes_(takes), slow_read_(slow_read), channel_(1) {}
  std::span<const Channel> channels() const override { return channel_; }
  void read(Sink& sink) override {
    const int n = reads_++;
    if (takes_ > Duration{} && (slow_read_ < 0 || slow_read_ == n))
      std::this_thread::sleep_for(std::chrono::nanoseconds(takes_.base_units()));
    sink.value(n);
  }

 private:
  Duration takes_;
  int slow_read_, reads_ = 0;
  std::vector<Channel> channel_;
};

class Collected final : public RoundConsumer {
 public:
  void take(const Round& round) override {
    const std::scoped_lock lock(mutex);
    rounds[round.device].push_back(round.readings.front());
    deadlines[round.device].push_back(round.deadline);
  }
  void missed(std::size_t device, MonoTime, std::int64_t count) override {
    const std::scoped_lock lock(mutex);
    missing[device] += count;
  }
  void suspended(const Suspension&) override {}

  std::mutex mutex;
  std::map<std::size_t, std::vector<Reading>> rounds;
  std::map<std::size_t, std::vector<MonoTime>> deadlines;
  std::map<std::size_t, std::int64_t> missing;
};

std::vector<Device> one(std::unique_ptr<Meter> meter, bool slow = false) {
  std::vector<Device> devices;
  devices.push_back({"test", "0", slow, std::move(meter)});
  return devices;
}

// A meter that says who uses it.
class SharedMeter final : public Meter {
 public:
  std::span<const Channel> channels() const override { return channel_; }
  void read(Sink& sink) override { sink.value(0); }
  void processes(std::vector<DeviceProcess>& into) override {
    DeviceProcess user;
    user.pid = ++asked_;
    into.push_back(user);
  }

 private:
  std::int64_t asked_ = 0;
  std::vector<Channel> channel_ = std::vector<Channel>(1);
};

class Users final : public RoundConsumer {
 public:
  void take(const Round&) override {}
  void missed(std::size_t, MonoTime, std::int64_t) override {}
  void suspended(const Suspension&) override {}
  void processes(std::size_t, MonoTime, std::span<const DeviceProcess> users) override {
    const std::scoped_lock lock(mutex);
    for (const DeviceProcess& user : users) seen.push_back(user.pid);
  }
  std::mutex mutex;
  std::vector<std::int64_t> seen;
};

// Rounds of 10 ms; who uses the device is asked for at the start, and not at each round.
TEST(Sampler, AsksWhoUsesADeviceOnceASecond) {
  auto devices = one(std::make_unique<SharedMeter>());
  Users users;
  const MonoTime begin = mono_now();
  Sampler sampler(devices, milliseconds(10), users);
  sampler.start();
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  sampler.stop();
  ASSERT_FALSE(users.seen.empty());
  EXPECT_EQ(users.seen.front(), 1);
  EXPECT_LE(static_cast<double>(users.seen.size()), 1 + to_seconds(mono_now() - begin) / 0.95);
}

TEST(Sampler, ReadsOnceAtTheStartAndOnceAtTheEnd) {
  auto devices = one(std::make_unique<CountingMeter>());
  Collected all;
  Sampler sampler(devices, seconds(3600), all);
  sampler.start();
  const MonoTime between = mono_now();
  sampler.stop();
  ASSERT_EQ(all.rounds[0].size(), 2u);
  EXPECT_LE(all.rounds[0][0].after, between);
  EXPECT_GE(all.rounds[0][1].before, between);
}

TEST(Sampler, EveryReadingIsStampedBeforeAndAfter) {
  auto devices = one(std::make_unique<CountingMeter>(milliseconds(5)));
  Collected all;
  Sampler sampler(devices, seconds(10), all);
  sampler.start();
  sampler.stop();
  for (const Reading& reading : all.rounds[0]) EXPECT_GE(reading.after - reading.before, milliseconds(5));
}

// measure 10: an interval of 200 ms, one read takes 500 ms: the two deadlines that passed meanwhile are missed.
TEST(Sampler, DeadlinesThatPassDuringASlowReadAreCountedAsMissed) {
  auto devices = one(std::make_unique<CountingMeter>(milliseconds(500), 1));
  Collected all;
  Sampler sampler(devices, milliseconds(200), all);
  sampler.start();
  std::this_thread::sleep_for(std::chrono::milliseconds(1050));
  sampler.stop();
  EXPECT_GE(all.missing[0], 2);  // more only where the machine itself was late
  // Counters are read on: the last value is the number of reads, none of them invented.
  EXPECT_EQ(all.rounds[0].back().raw, static_cast<std::int64_t>(all.rounds[0].size()) - 1);
}

TEST(Sampler, DeadlinesKeepTheirGrid) {
  auto devices = one(std::make_unique<CountingMeter>(milliseconds(25), 2));
  Collected all;
  Sampler sampler(devices, milliseconds(10), all);
  sampler.start();
  std::this_thread::sleep_for(std::chrono::milliseconds(120));
  sampler.stop();
  const auto& deadlines = all.deadlines[0];
  for (std::size_t i = 1; i + 1 < deadlines.size(); ++i)
    EXPECT_EQ((deadlines[i] - deadlines[0]).base_units() % milliseconds(10).base_units(), 0) << i;
}

// Rounds of 1 ms are handed on some at a time, and none is lost, twice told or out of order, up to the last.
TEST(Sampler, QuickRoundsComeWholeAndInTheirOrder) {
  auto devices = one(std::make_unique<CountingMeter>());
  Collected all;
  Sampler sampler(devices, milliseconds(1), all);
  sampler.start();
  EXPECT_EQ(all.rounds[0].size(), 1U);
  std::this_thread::sleep_for(std::chrono::milliseconds(60));
  sampler.stop();
  const auto& rounds = all.rounds[0];
  ASSERT_GT(rounds.size(), 3U);
  for (std::size_t i = 0; i < rounds.size(); ++i) {
    EXPECT_EQ(rounds[i].raw, static_cast<std::int64_t>(i));
    if (i == 0) continue;
    EXPECT_GE(rounds[i].before, rounds[i - 1].after) << i;
    EXPECT_GT(all.deadlines[0][i], all.deadlines[0][i - 1]) << i;
  }
}

TEST(Sampler, RoundsBeforeAMissedDeadlineComeBeforeItIsTold) {
  auto devices = one(std::make_unique<CountingMeter>(milliseconds(30), 5));
  struct Ordered final : RoundConsumer {
    void take(const Round& round) override { last = round.deadline; }
    void missed(std::size_t, MonoTime at, std::int64_t) override {
      if (told == 0) gap = at - last;
      ++told;
    }
    void suspended(const Suspension&) override {}
    MonoTime last;
    Duration gap;
    int told = 0;
  } consumer;
  Sampler sampler(devices, milliseconds(2), consumer);
  sampler.start();
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  sampler.stop();
  ASSERT_GT(consumer.told, 0);
  EXPECT_GE(consumer.gap, milliseconds(4));   // the round that took so long was due before all that it made miss
}

TEST(Sampler, ASlowMeterDoesNotDelayAFastOne) {
  auto devices = one(std::make_unique<CountingMeter>());
  devices.push_back({"test", "slow", true, std::make_unique<CountingMeter>(milliseconds(300), 1)});
  Collected all;
  Sampler sampler(devices, milliseconds(20), all);
  sampler.start();
  std::this_thread::sleep_for(std::chrono::milliseconds(400));
  sampler.stop();
  // While the slow one stood in its read (15 deadlines), the fast one went on.
  EXPECT_GE(all.missing[1], 10);
  EXPECT_GT(all.rounds[0].size(), 2 * all.rounds[1].size());
}

// A device that does not answer at all costs nobody else a deadline, neither at the start nor at the end.
TEST(Sampler, ASlowMeterThatHangsAtTheStartCostsTheOthersNothing) {
  auto devices = one(std::make_unique<CountingMeter>());
  devices.push_back({"test", "hangs", true, std::make_unique<CountingMeter>(milliseconds(2500), 0)});
  Collected all;
  Sampler sampler(devices, milliseconds(100), all);
  sampler.start();
  const MonoTime started = mono_now();
  {
    const std::scoped_lock lock(all.mutex);
    EXPECT_EQ(all.rounds[0].size(), 1u);
    EXPECT_EQ(all.rounds[1].size(), 0u);  // still in its first read
    EXPECT_LE(all.rounds[0][0].after, started);
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(2000));
  sampler.stop();
  EXPECT_EQ(all.deadlines[0][1] - all.deadlines[0][0], milliseconds(100));  // no deadline lies before the start
  EXPECT_GE(all.rounds[1].size(), 2u);
}

TEST(Sampler, SlowMetersAreReadAtTheSameTime) {
  std::vector<Device> devices;
  for (int i = 0; i < 4; ++i) devices.push_back({"test", std::to_string(i), true, std::make_unique<CountingMeter>(milliseconds(200))});
  Collected all;
  Sampler sampler(devices, seconds(3600), all);
  sampler.start();
  const MonoTime between = mono_now();
  sampler.stop();
  for (std::size_t i = 0; i < 4; ++i) {
    ASSERT_EQ(all.rounds[i].size(), 2u);
    EXPECT_LE(all.rounds[i][0].after, between);
    EXPECT_GE(all.rounds[i][1].before, between);
    EXPECT_LT(all.rounds[i][0].before, all.rounds[0][0].after);  // begun before the first had ended
  }
}

TEST(Sampler, ACounterThatWrapsSoonIsReadOftenerThanAsked) {
  struct Wrapping final : Meter {
    std::vector<Channel> channel{1};
    Wrapping() {
      channel[0].range = 262'143'328'850;
      channel[0].unit = 1e-6;
      channel[0].max_power = watts(400);
    }
    std::span<const Channel> channels() const override { return channel; }
    void read(Sink& sink) override { sink.value(0); }
  };
  auto devices = one(std::make_unique<Wrapping>());
  Collected all;
  const Sampler sampler(devices, seconds(3600), all);
  // 262 143.328850 J at 400 W wrap in 655.36 s; half of that.
  EXPECT_NEAR(to_seconds(sampler.interval_of(0)), 327.68, 0.01);
}

}  // namespace
}  // namespace joulery
