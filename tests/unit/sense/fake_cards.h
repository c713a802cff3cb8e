// A machine with accelerators on its PCI bus whose vendor's library is a stand-in: loaded beforehand under its real name, so
// that the meter's dlopen finds it whatever else is installed.
#pragma once

#include <dlfcn.h>
#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "tests/unit/sense/tree.h"

namespace joulery::testing {

// One stand-in: its file in the folder of stand-ins, and the environment variable that names its script.
class FakeLibrary {
 public:
  FakeLibrary(const char* file, std::string variable) : variable_(std::move(variable)) {
    handle_ = ::dlopen((std::string(JOULERY_STANDINS "/") + file).c_str(), RTLD_NOW | RTLD_LOCAL);
    EXPECT_NE(handle_, nullptr) << ::dlerror();
  }
  FakeLibrary(const FakeLibrary&) = delete;
  FakeLibrary& operator=(const FakeLibrary&) = delete;
  ~FakeLibrary() {
    ::unsetenv(variable_.c_str());
    reload();  // the library stays loaded: without a script it shows no card
  }
  void play(Tree& tree, const std::string& script) {
    tree.file("/script", script);
    ::setenv(variable_.c_str(), (tree.root() + "/script").c_str(), 1);
    reload();
  }
  void set_time_ms(double t) { call<void(double)>("fake_cards_set_time_ms")(t); }

 private:
  template <class Function>
  Function* call(const char* name) {
    return reinterpret_cast<Function*>(::dlsym(handle_, name));
  }
  void reload() { call<void()>("fake_cards_reload")(); }

  std::string variable_;
  void* handle_ = nullptr;
};

inline void lay_pci_card(Tree& tree, const std::string& address, const std::string& vendor, const std::string& device,
                         const std::string& pci_class = "0x038000") {
  const std::string folder = "/sys/bus/pci/devices/" + address;
  tree.file(folder + "/vendor", vendor + "\n").file(folder + "/device", device + "\n").file(folder + "/class", pci_class + "\n");
}

inline std::vector<std::string> channel_names(const Meter& meter) {
  std::vector<std::string> names;
  for (const Channel& channel : meter.channels()) names.push_back(channel.name);
  return names;
}

// What a channel of this name reads, in its SI unit.
inline double read_value(Meter& meter, std::string_view name) {
  const Channel* channel = channel_named(meter, name);
  if (!channel) {
    ADD_FAILURE() << "no channel " << name;
    return 0;
  }
  const Reading reading = read_channel(meter, name);
  EXPECT_TRUE(reading.ok()) << name << ": " << describe(reading.reason);
  return static_cast<double>(static_cast<std::uint64_t>(reading.raw)) * channel->unit;
}

}  // namespace joulery::testing
