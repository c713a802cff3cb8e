// Where an agent sends a node's figures: the sections [agent.push.NAME].
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/settings.h"
#include "core/quantity.h"
#include "publish/remote_write.h"
#include "sense/remote/http.h"

namespace joulery {

enum class PushKind : char { remote_write = 'R', otlp = 'O' };

struct PushTarget {
  std::string name;          // "fleet"
  PushKind kind = PushKind::remote_write;
  std::string url;
  Duration interval = milliseconds(15'000);
  Duration timeout = milliseconds(10'000);
  Duration longest_pause = milliseconds(60'000);
  std::uint64_t most_queued_bytes = 256 << 20;
  ExternalLabels labels;     // of every series; attributes of the resource in OTLP
  HttpAccess access;
};

// All that are configured. `warnings` tells what is not well about their secrets' files.
// Errors: usage, with the key's origin; those of read_http_access().
Result<std::vector<PushTarget>> read_push_targets(const Settings& settings, std::vector<std::string>& warnings);

}  // namespace joulery
