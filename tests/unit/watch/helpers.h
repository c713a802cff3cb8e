// What the tests of processes share: a folder that cleans up after itself, patience for slow machines.
#pragma once

#include <sys/stat.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

namespace joulery {

namespace fs = std::filesystem;

class Folder {
 public:
  Folder() {
    std::string pattern = (fs::temp_directory_path() / "child-test-XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  Folder(const Folder&) = delete;
  ~Folder() { fs::remove_all(path_); }
  fs::path operator/(const std::string& name) const { return path_ / name; }
  fs::path put(const std::string& name, const std::string& content, int mode = 0644) const {
    std::ofstream(path_ / name, std::ios::binary) << content;
    chmod((path_ / name).c_str(), static_cast<mode_t>(mode));
    return path_ / name;
  }

 private:
  fs::path path_;
};

inline std::string content_of(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Waits for a condition as long as a slow machine may need; false when it never came.
template <class Condition>
bool eventually(Condition&& condition) {
  for (int tries = 0; tries < 2000; ++tries) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

}  // namespace joulery
