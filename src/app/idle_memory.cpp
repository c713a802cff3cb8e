#include "app/idle_memory.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "app/user_folders.h"

namespace joulery {
namespace {

using Json = nlohmann::json;

std::string file_name() { return user_state_folder() + "/idle.json"; }

// Idle power belongs to the set of meters that told it.
std::string key_of(const Discovery& discovery) {
  std::string key;
  for (const Device& device : discovery.devices)
    for (const Channel& channel : device.meter->channels())
      if (channel.measurand == Measurand::energy || channel.measurand == Measurand::power)
        key += fmt::format("{}{}:{}", key.empty() ? "" : " ", device.kind, channel.component.path());
  return key;
}

Json read_all() {
  std::ifstream file(file_name());
  Json all = Json::parse(file, nullptr, false);
  return all.is_object() ? all : Json::object();
}

}  // namespace

std::optional<IdlePower> recall_idle(const Discovery& discovery) {
  const Json all = read_all();
  const auto found = all.find(key_of(discovery));
  if (found == all.end() || key_of(discovery).empty()) return std::nullopt;
  try {
    return IdlePower{watts(found->at("host_watts").get<double>()), watts(found->at("accelerator_watts").get<double>()),
                     fmt::format("learnt on {}", found->at("date").get<std::string>())};
  } catch (const Json::exception&) { return std::nullopt; }
}

void remember_idle(const Discovery& discovery, const LoadedRun& run) {
  const auto idle = run.measured_idle();
  if (!idle || key_of(discovery).empty()) return;
  Json all = read_all();
  all[key_of(discovery)] = {{"host_watts", to_watts(idle->host)},
                            {"accelerator_watts", to_watts(idle->accelerators)},
                            {"date", fmt::format("{:%Y-%m-%d}", fmt::gmtime(std::time(nullptr)))}};
  std::error_code ignored;
  std::filesystem::create_directories(user_state_folder(), ignored);
  const std::string fresh = file_name() + ".new";
  if (std::ofstream(fresh) << all.dump(2) << '\n') std::filesystem::rename(fresh, file_name(), ignored);
}

}  // namespace joulery
