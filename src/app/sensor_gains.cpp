#include "app/sensor_gains.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "app/command.h"
#include "app/command_line.h"
#include "app/user_folders.h"
#include "core/units.h"
#include "ledger/run_facts.h"
#include "record/recording.h"

namespace joulery {
namespace {

std::string gains_file() { return user_config_folder() + "/sensor_gains.json"; }

// Whole or not at all: beside it first, then renamed over it.
Result<void> keep(const std::vector<SensorGain>& gains) {
  const std::string path = gains_file(), passing = path + ".new";
  std::error_code failed;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), failed);
  std::ofstream file(passing, std::ios::binary | std::ios::trunc);
  file << to_json(gains);
  file.close();
  if (!file) return std::unexpected(error_from_errno(errno, "cannot write the sensor gains", passing));
  std::filesystem::rename(passing, path, failed);
  if (failed) return std::unexpected(error_from_errno(failed.value(), "cannot write the sensor gains", path));
  return {};
}

Result<std::vector<SensorGain>> learnt(const std::string& file, const std::string& component, const std::string& energy) {
  const auto metered = parse_energy(energy);
  if (!metered) return std::unexpected(metered.error());
  const auto recording = Recording::open(file);
  if (!recording) return std::unexpected(recording.error());
  const auto facts = facts_from((*recording)->metadata());
  if (!facts) return std::unexpected(facts.error());
  const auto timeline = Timeline::from(**recording, facts->machine.threads);
  if (!timeline) return std::unexpected(timeline.error());
  const std::string name = std::filesystem::path(file).filename().string();
  return learn_gains(*timeline, component, *metered, fmt::format("learnt from {} by a meter, {}", to_text(*metered), name));
}

}  // namespace

Result<std::vector<SensorGain>> known_gains() {
  std::ifstream file(gains_file(), std::ios::binary);
  if (!file) return std::vector<SensorGain>();
  std::ostringstream text;
  text << file.rdbuf();
  auto gains = gains_from_json(text.str());
  if (!gains) gains.error().where = gains_file();
  return gains;
}

bool asks_for_sensor(const std::vector<std::string>& arguments) {
  return std::ranges::any_of(arguments, [](const std::string& word) { return word == "--sensor" || word.starts_with("--sensor="); });
}

int calibrate_sensor(std::vector<std::string> arguments) {
  CLI::App app("Learns the gain of a power sensor from a recording and the energy that a true meter showed over its run.",
               "joulery calibrate --sensor");
  std::string file, energy, component = "node/gpu/0";
  app.add_option("--sensor", file, "the recording")->required()->type_name("REC");
  app.add_option("--energy", energy, "what the meter showed, such as 3.44kJ or 0.955Wh")->required()->type_name("E");
  app.add_option("--component", component, "whose sensor")->type_name("PATH")->capture_default_str();
  if (const auto code = parse(app, std::move(arguments))) return *code;
  const auto gains = learnt(file, component, energy);
  if (!gains) return complain("calibrate", gains.error(), gains.error().code == ErrorCode::usage ? exit_usage : 1);
  auto all = known_gains();
  if (!all) return complain("calibrate", all.error(), 1);
  for (const SensorGain& gain : *gains) {
    std::erase_if(*all, [&](const SensorGain& old) { return old.device == gain.device && old.channel == gain.channel; });
    all->push_back(gain);
    fmt::print("{} {}: the meter shows {:.4f} J for each joule of the sensor\n", gain.device, gain.channel, gain.factor);
  }
  if (const auto kept = keep(*all); !kept) return complain("calibrate", kept.error(), 1);
  fmt::print("Kept in {}; every report of this device uses it from now on.\n", gains_file());
  return 0;
}

}  // namespace joulery
