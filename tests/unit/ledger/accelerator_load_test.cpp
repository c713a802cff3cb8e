#include "ledger/accelerator_load.h"

#include <gtest/gtest.h>

#include "ledger/ledger.h"
#include "record/memory_recording.h"

namespace joulery {
namespace {

constexpr MonoTime at(double s) { return {static_cast<std::int64_t>(s * 1e9)}; }

Channel channel(const char* component, const char* name, Measurand measurand, double unit) {
  Channel made;
  made.component = Component(component);
  made.name = name;
  made.measurand = measurand;
  made.behaviour = Behaviour::gauge;
  made.unit = unit;
  return made;
}

// A TPU whose program begins after two seconds and keeps it half busy, then says nothing for a second.
MemoryRecording recording_of(const char* name) {
  MemoryRecording recording({{"tpu", name, seconds(1), {channel("node/gpu/tpu-0", "tpu-0 utilisation", Measurand::utilisation, 1e-4)}}});
  const auto add = [&](double s, std::int64_t raw, MissingReason reason) {
    const Reading reading{raw, reason, at(s), at(s)};
    recording.add(Round{0, at(s), {&reading, 1}});
  };
  for (const double s : {0.0, 1.0, 2.0}) add(s, 0, MissingReason::gone);
  for (const double s : {3.0, 4.0}) add(s, 5000, MissingReason::none);
  add(5, 0, MissingReason::timed_out);
  recording.set({{"run_begin_ns", "0"}, {"run_end_ns", "5000000000"}});
  return recording;
}

const Row* row_of(const Ledger& ledger, std::string_view path) {
  for (const Row& row : ledger.rows())
    if (row.component.path() == path) return &row;
  return nullptr;
}

TEST(AcceleratorLoad, AChipThatTellsNoPowerIsEstimatedFromHowBusyItWas) {
  const MemoryRecording recording = recording_of("1 x TPU v4");
  const auto timeline = Timeline::from(recording, 1);
  ASSERT_TRUE(timeline);
  const Ledger ledger(*timeline, std::nullopt, Fill::automatic, {});
  const Row* row = row_of(ledger, "node/gpu/tpu-0");
  ASSERT_NE(row, nullptr);
  EXPECT_EQ(row->quality, Quality::estimated);
  EXPECT_EQ(row->meter, "model");
  EXPECT_NE(row->reason.find("Google's measurements"), std::string::npos);
  const Span span = ledger.energy(*row, timeline->run);
  ASSERT_TRUE(span.energy);
  // 2 s idle at 90 W, 2 s half busy at (90 + 170) / 2, 1 s not known: the same in the middle, between 72 and 192 W.
  EXPECT_NEAR(to_joules(span.energy->value), 2 * 90 + 2 * 130 + 130, 1e-6);
  EXPECT_NEAR(to_joules(span.energy->low), 2 * 72 + 2 * 96.5 + 72, 1e-6);
  EXPECT_NEAR(to_joules(span.energy->high), 2 * 121 + 2 * 156.5 + 192, 1e-6);
  EXPECT_EQ(ledger.total(timeline->run).quality, Quality::estimated);
}

TEST(AcceleratorLoad, WithoutEstimatesItIsMissingWithItsReason) {
  const MemoryRecording recording = recording_of("1 x TPU v4");
  const auto timeline = Timeline::from(recording, 1);
  const Ledger ledger(*timeline, std::nullopt, Fill::none, {});
  const Row* row = row_of(ledger, "node/gpu/tpu-0");
  ASSERT_NE(row, nullptr);
  EXPECT_EQ(row->track, nullptr);
  EXPECT_EQ(row->quality, Quality::missing);
  EXPECT_TRUE(ledger.total(timeline->run).partial);
}

TEST(AcceleratorLoad, AChipOfWhichNothingIsPublishedIsMissing) {
  const MemoryRecording recording = recording_of("1 x TPU v6e");
  const auto timeline = Timeline::from(recording, 1);
  const Ledger ledger(*timeline, std::nullopt, Fill::all, {});
  EXPECT_EQ(row_of(ledger, "node/gpu/tpu-0")->quality, Quality::missing);
  EXPECT_EQ(row_of(ledger, "node/gpu/tpu-0")->reason, "tells no power, and its maker publishes none");
}

TEST(AcceleratorLoad, WhatTellsEnergyIsNoMatterOfEstimates) {
  RecordedDevice device{"amdsmi",
                        "AMD GPUs",
                        seconds(1),
                        {channel("node/gpu/amd-0", "amd-0 utilisation", Measurand::utilisation, 1e-2),
                         channel("node/gpu/amd-0", "amd-0 power", Measurand::power, 1)}};
  Series series;
  series.columns.resize(2);
  const std::vector<MonoTime> times{at(0)};
  EXPECT_TRUE(accelerator_loads(device, times, series).empty());
}

TEST(AcceleratorPower, ABusierChipBurnsMore) {
  const AcceleratorPower* v4 = accelerator_power("4 x TPU v4");
  ASSERT_NE(v4, nullptr);
  EXPECT_EQ(v4->at(0), v4->idle);
  EXPECT_EQ(v4->at(1), v4->busy);
  EXPECT_EQ(v4->at(7), v4->busy);
  EXPECT_EQ(accelerator_power("2 Neuron devices"), nullptr);
}

}  // namespace
}  // namespace joulery
