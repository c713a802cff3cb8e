#include "app/agent/learnt_file.h"

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

namespace joulery {

std::map<std::string, std::string> read_learnt(const std::string& path) {
  std::ifstream file(path);
  const auto json = nlohmann::json::parse(file, nullptr, false);
  std::map<std::string, std::string> learnt;
  if (!json.is_object()) return learnt;
  for (const auto& [component, text] : json.items())
    if (text.is_string()) learnt[component] = text.get<std::string>();
  return learnt;
}

void write_learnt(const std::string& path, const std::map<std::string, std::string>& learnt) {
  const std::string beside = path + ".new";
  {
    std::ofstream file(beside, std::ios::trunc);
    file << nlohmann::json(learnt).dump() << "\n";
    if (!file.flush()) return;
  }
  (void)std::rename(beside.c_str(), path.c_str());
}

}  // namespace joulery
