// What a kind of meter must do, and what looking for it says.
//
// To add a kind: write sense/<kind>.{h,cpp} with one `Discovery probe_<kind>(const Machine&)` (and `const Settings&` for what the
// user must name, such as a BMC's address), and add a line to the list in sense/meters.cpp.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sense/channel.h"
#include "sense/device_process.h"
#include "sense/machine.h"
#include "sense/reading.h"

namespace joulery {

// One device that can be read. `read` reports each channel once, in the order of channels(), and never throws.
class Meter {
 public:
  virtual ~Meter() = default;
  virtual std::span<const Channel> channels() const = 0;
  virtual void read(Sink& sink) = 0;
  // Adds who uses the device just now, where it tells. Called by the thread that reads it, about once a second; never throws.
  virtual void processes(std::vector<DeviceProcess>&) {}
};

// One round of a meter outside the sampler: stamped, and complete where the meter is not.
std::vector<Reading> read_once(Meter& meter);

// What the doctor says about one device of a kind; a kind that is absent has one finding with found = false.
struct Finding {
  std::string kind;    // "rapl.powercap"
  std::string device;  // "package-0", "" where the kind is absent
  bool found = false;
  bool readable = false;
  std::string reason;  // why it cannot be read, exactly, or what is wrong with it or why it is not used; else ""
  std::string remedy;  // the command that mends it, one alternative a line; "" where nothing is to be done
};

// A meter that can be read, with what a recording must remember of it.
struct Device {
  std::string kind;    // "rapl.powercap"
  std::string name;    // "package-0"
  bool slow = false;   // may take longer than a fast round: gets a thread of its own
  std::unique_ptr<Meter> meter;
  Duration least_interval{};  // reading it more often tells nothing new, or costs more than it tells
  std::vector<std::string> remarks{};  // what the recording must tell of it: functions its driver lacks, whose energy it counts
};

struct Discovery {
  std::vector<Device> devices;
  std::vector<Finding> findings;
};

}  // namespace joulery
