// A machine with NVIDIA's driver whose library is the stand-in: loaded beforehand under its real name, so that the meter's
// dlopen finds it whatever else is installed.
#pragma once

#include <dlfcn.h>

#include "sense/nvidia/nvml.h"
#include "tests/unit/sense/tree.h"

namespace joulery::testing {

class NvmlFixture : public ::testing::Test {
 protected:
  NvmlFixture() { tree.file("/proc/driver/nvidia/version", "NVRM version: stand-in\n"); }
  ~NvmlFixture() override {
    forget();
    ::unsetenv("FAKE_NVML_SCRIPT");
  }

  void load(const std::string& script, const char* path = JOULERY_STANDINS "/libnvidia-ml.so.1") {
    forget();
    rewrite(script);
    ::setenv("FAKE_NVML_SCRIPT", (tree.root() + "/script").c_str(), 1);
    library = ::dlopen(path, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library, nullptr) << ::dlerror();
    set_time_ms = reinterpret_cast<void (*)(double)>(::dlsym(library, "fake_nvml_set_time_ms"));
    ASSERT_NE(set_time_ms, nullptr);
    set_time_ms(0);
  }
  void probe(const std::string& script, const char* path = JOULERY_STANDINS "/libnvidia-ml.so.1") {
    load(script, path);
    found = probe_nvml(tree.machine());
  }
  // The script changes while the library is in use.
  void rewrite(const std::string& script) { tree.replace("/script", script); }
  void forget() {
    found = {};
    if (library) ::dlclose(library);
    library = nullptr;
  }
  Meter& gpu(std::size_t index) { return *found.devices.at(index).meter; }

  Tree tree;
  void* library = nullptr;
  void (*set_time_ms)(double) = nullptr;
  Discovery found;
};

}  // namespace joulery::testing
