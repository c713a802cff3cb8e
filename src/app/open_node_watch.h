// Makes a NodeWatch of what the user asked for and the machine has.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "app/node_watch.h"
#include "config/settings.h"
#include "core/result.h"

namespace joulery {

struct NodeWatchOptions {
  Duration interval = milliseconds(1000);
  Duration linger = seconds(300);
  std::string idle = "separate";     // an IdlePolicy by name
  std::string estimate = "auto";     // "auto", "all", "none"
  std::string cpu_time = "auto";     // a CpuAccountChoice by name
  std::string sysroot;
};

struct OpenedNodeWatch {
  std::unique_ptr<NodeWatch> watch;
  std::string note;  // what the user should know: why CPU time is not told by eBPF, what an agent reads; "" where nothing
  std::vector<Finding> findings;  // of the meters
};

// What an agent does to the devices before they are watched, so that others may read them too. It reads its own meters alone,
// never those that an agent gives.
using ShareDevices = std::function<void(std::vector<Device>&)>;

// Errors: usage, with what the options may say; those of discovery.
Result<OpenedNodeWatch> open_node_watch(const NodeWatchOptions& options, const Settings& settings, const ShareDevices& share = {});

}  // namespace joulery
