// What a model server's answers cost, told: text for people, JSON (joulery.serving/1), and a JSON line for each request.
#pragma once

#include <span>
#include <string>

#include "judge/serving_report.h"
#include "publish/style.h"
#include "watch/serving/served_request.h"

namespace joulery {

std::string serving_text(const ServingReport& report, const TextStyle& style);
std::string serving_json(const ServingReport& report);

// A line of a request log (docs/integrations/serving.md): what was read, and its joules where `share` is not null.
// `tokens_source`: how the answer's tokens are known, "" where that is not said. `status` 0: not said.
std::string request_line(const ServedRequest& request, const SharedJoules* share, std::string_view tokens_source, int status);

}  // namespace joulery
