#include "sense/nvidia/power_sensor.h"

namespace joulery {
namespace {

enum class Family : std::uint8_t { kepler, maxwell, pascal, volta, turing, ga100, ampere, ada, hopper };

constexpr std::uint8_t draw = 1, average = 2, instant = 4, any = draw | average | instant;
constexpr int any_driver = 0, present_driver = 9999;

struct Row {
  Family family;
  std::uint8_t readings;
  int first_driver, last_driver;
  int update_ms, window_ms;
  SensorResponse response = SensorResponse::mean;
};

// The first row that fits counts. Driver 530 alone gave the instant as `draw` on cards that else give the average.
constexpr Row rows[] = {
    {Family::kepler, any, any_driver, present_driver, 15, 0, SensorResponse::logarithmic},
    {Family::maxwell, any, any_driver, present_driver, 100, 0, SensorResponse::logarithmic},
    {Family::pascal, any, any_driver, present_driver, 20, 10},
    {Family::volta, any, any_driver, present_driver, 20, 10},
    {Family::turing, any, any_driver, present_driver, 100, 100},
    {Family::ga100, any, any_driver, present_driver, 100, 25},
    {Family::ampere, draw, 530, 530, 100, 100},
    {Family::ampere, draw | average, any_driver, present_driver, 100, 1000},
    {Family::ampere, instant, any_driver, present_driver, 100, 100},
    {Family::ada, draw, 530, 530, 100, 100},
    {Family::ada, draw | average, any_driver, present_driver, 100, 1000},
    {Family::ada, instant, any_driver, present_driver, 100, 100},
    {Family::hopper, draw, 1, 530, 100, 25},  // measured on 525.105 and 525.116
    {Family::hopper, draw | average, any_driver, present_driver, 100, 1000},
    {Family::hopper, instant, any_driver, present_driver, 100, 25},
};

Family family_of(const GpuGeneration& gpu) {
  constexpr Family by_number[] = {Family::kepler, Family::maxwell, Family::pascal, Family::volta,
                                  Family::turing, Family::ampere,  Family::ada,    Family::hopper};
  if (gpu.cc_major == 8 && gpu.cc_minor == 0) return Family::ga100;
  if (gpu.architecture < 2 || gpu.architecture > 9) return Family::hopper;
  return by_number[gpu.architecture - 2];
}

}  // namespace

PowerSensor power_sensor(const GpuGeneration& gpu, PowerReading reading) {
  const Family family = family_of(gpu);
  const auto bit = static_cast<std::uint8_t>(1U << static_cast<unsigned>(reading));
  const int driver = gpu.driver == 0 ? present_driver : gpu.driver;
  for (const Row& row : rows)
    if (row.family == family && (row.readings & bit) != 0 && row.first_driver <= driver && driver <= row.last_driver)
      return {milliseconds(row.update_ms), milliseconds(row.window_ms), row.response};
  return {milliseconds(100), milliseconds(1000)};
}

}  // namespace joulery
