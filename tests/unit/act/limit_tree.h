// A machine of plain files that has power limits, and knobs on it. Plain files take whatever is written, as a processor does that has no
// floor of its own; `Clamping` is one that has.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "act/power_control.h"
#include "act/power_knobs.h"

namespace joulery {

class LimitTree {
 public:
  LimitTree() {
    std::string pattern = (std::filesystem::temp_directory_path() / "joulery-limits-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }
  ~LimitTree() { std::filesystem::remove_all(folder_); }
  LimitTree(const LimitTree&) = delete;
  LimitTree& operator=(const LimitTree&) = delete;

  std::string root() const { return folder_ + "/machine"; }
  std::string journals() const { return folder_ + "/journals"; }
  void put(const std::string& file, const std::string& text) const {
    const std::filesystem::path path = root() + file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::trunc) << text << "\n";
  }
  std::string get(const std::string& file) const {
    std::ifstream in(root() + file);
    std::string line;
    std::getline(in, line);
    return line;
  }

  static constexpr const char* package = "/sys/class/powercap/intel-rapl:0/";
  static constexpr const char* card = "/sys/class/hwmon/hwmon0/";
  // A package of 125 W, long term 125 W and short term 250 W, switched on, and a card of 250 W.
  void put_machine() const {
    const std::string p = package, c = card;
    put(p + "name", "package-0");
    put(p + "enabled", "1");
    put(p + "constraint_0_name", "long_term");
    put(p + "constraint_0_power_limit_uw", "125000000");
    put(p + "constraint_0_max_power_uw", "125000000");
    put(p + "constraint_0_time_window_us", "27983872");
    put(p + "constraint_1_name", "short_term");
    put(p + "constraint_1_power_limit_uw", "250000000");
    put(p + "constraint_1_max_power_uw", "0");
    put(c + "name", "amdgpu");
    put(c + "power1_cap", "250000000");
    put(c + "power1_cap_min", "100000000");
    put(c + "power1_cap_max", "300000000");
    put(c + "power1_cap_default", "280000000");
  }
  std::string long_term() const { return get(std::string(package) + "constraint_0_power_limit_uw"); }
  PowerControl control() const { return {find_power_knobs(Machine(root()), KnobFile::Access::write), journals(), ""}; }

 private:
  std::string folder_;
};

}  // namespace joulery
