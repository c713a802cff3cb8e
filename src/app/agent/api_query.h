// The question of /api/v1/query, from its parameters. Apart from the API, so that it can be tested and fuzzed by itself.
#pragma once

#include "app/agent/http_message.h"
#include "app/agent/node_view.h"
#include "core/result.h"

namespace joulery {

// series=NAME, match=LABEL=VALUE (any number), from, to (Unix seconds, ISO 8601, "now", or "-1h" before now; one hour up to now
// where not given), step ("1m", or seconds; such that about 300 steps fill the time where not given). At most 11,000 steps, none
// shorter than a second, so that the figures of a reader without the token are no finer than /metrics.
// Errors: usage, naming the parameter.
Result<HistoryQuery> history_query(const HttpRequest& request, WallTime now);

}  // namespace joulery
