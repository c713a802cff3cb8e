#include "sense/nvidia/power_sensor.h"

#include <gtest/gtest.h>

namespace joulery {
namespace {

struct Expected {
  const char* what;
  GpuGeneration gpu;
  PowerReading reading;
  std::int64_t update_ms, window_ms;
};

// The study's own table, row by row.
constexpr Expected expected[] = {
    {"H100, average", {9, 9, 0, 550}, PowerReading::average, 100, 1000},
    {"H100, instant sees a quarter of the time", {9, 9, 0, 550}, PowerReading::instant, 100, 25},
    {"H100, draw of a present driver", {9, 9, 0, 550}, PowerReading::draw, 100, 1000},
    {"H100, draw of an old driver", {9, 9, 0, 525}, PowerReading::draw, 100, 25},
    {"L40S, draw", {8, 8, 9, 550}, PowerReading::draw, 100, 1000},
    {"L40S, instant", {8, 8, 9, 550}, PowerReading::instant, 100, 100},
    {"RTX 3090, draw before 530", {7, 8, 6, 525}, PowerReading::draw, 100, 1000},
    {"RTX 3090, draw of 530", {7, 8, 6, 530}, PowerReading::draw, 100, 100},
    {"RTX 3090, draw after 530", {7, 8, 6, 535}, PowerReading::draw, 100, 1000},
    {"A100, whatever is asked", {7, 8, 0, 550}, PowerReading::draw, 100, 25},
    {"A100, whatever is asked", {7, 8, 0, 470}, PowerReading::instant, 100, 25},
    {"Turing", {6, 7, 5, 550}, PowerReading::draw, 100, 100},
    {"V100", {5, 7, 0, 550}, PowerReading::draw, 20, 10},
    {"P100", {4, 6, 0, 470}, PowerReading::draw, 20, 10},
    {"a generation after the table, no driver told", {13, 10, 0, 0}, PowerReading::draw, 100, 1000},
};

TEST(PowerSensor, SamplesAsTheStudyFound) {
  for (const Expected& row : expected) {
    const PowerSensor sensor = power_sensor(row.gpu, row.reading);
    EXPECT_EQ(sensor.update, milliseconds(row.update_ms)) << row.what;
    EXPECT_EQ(sensor.window, milliseconds(row.window_ms)) << row.what;
    EXPECT_EQ(sensor.response, SensorResponse::mean) << row.what;
  }
}

TEST(PowerSensor, KeplerAndMaxwellHaveNoWindow) {
  for (const unsigned architecture : {2U, 3U}) {
    const PowerSensor sensor = power_sensor({architecture, 3, 5, 470}, PowerReading::draw);
    EXPECT_EQ(sensor.window, Duration());
    EXPECT_EQ(sensor.response, SensorResponse::logarithmic);
  }
}

}  // namespace
}  // namespace joulery
