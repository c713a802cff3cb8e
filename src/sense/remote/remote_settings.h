// What every remote meter may be told in its section [meters.NAME], and how all of a kind are looked for.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "config/settings.h"
#include "sense/obstacles.h"
#include "sense/remote/remote_meter.h"

namespace joulery {

struct RemoteSettings {
  std::string name;               // "rack-pdu"
  std::string section;            // "meters.rack-pdu"
  Component component;            // what it measures
  RemotePace pace;
  Duration interval = milliseconds(1000);
  Duration update_period{};       // how often the device refreshes its values; 0: not known
  Power max_power;                // 0: not known
  Accuracy accuracy;              // the kind's own where the section does not say
};

// What a kind measures, and how well, where the section does not say.
struct RemoteKind {
  std::string_view name;       // "redfish"
  std::string_view component;  // "node"
  Accuracy accuracy;
};

// Errors: usage, with the key's origin.
Result<RemoteSettings> read_remote_settings(const Settings& settings, const std::string& name, const RemoteKind& kind);

// How a kind makes a device of its section; nothing is sent yet. `warning` may be set to what is told beside a good finding.
using MakeRemote = std::function<Result<std::unique_ptr<RemoteSource>>(const RemoteSettings&, const Settings&, std::string& warning)>;

// All meters of a kind that are configured, each asked once, all at the same time and for a second at most: one that does not
// answer in time is kept all the same, for it may come back, unless its channels are not known before it answered once.
// Where none is configured: `absent`.
Discovery probe_remote(const RemoteKind& kind, const Settings& settings, const Advice& absent, const MakeRemote& make);

}  // namespace joulery
