// Requests from spans, as an OpenTelemetry collector's file exporter writes them (OTLP in JSON): one whole document, or one
// document a line. A span is a request where it says how many tokens it made: vLLM's `llm_request`, and any other that follows
// the GenAI conventions.
//
// Attributes (OpenTelemetry semantic conventions for GenAI; vLLM docs, "OpenTelemetry"): gen_ai.usage.prompt_tokens or
// .input_tokens, gen_ai.usage.completion_tokens or .output_tokens, gen_ai.latency.time_in_queue and .time_to_first_token in
// seconds, gen_ai.response.model or gen_ai.request.model, gen_ai.request.id.
#pragma once

#include <cstddef>
#include <string_view>

#include "watch/serving/request_log.h"

namespace joulery {

// A document on a line of its own is a batch of a collector, 8,192 spans of 2 kB as it comes.
inline constexpr std::size_t most_otlp_line_bytes = 64 << 20;

// Bad lines are documents that are none; a span that is no request is no trouble.
RequestLog parse_otlp_spans(std::string_view text);

// Whether a text looks like spans rather than a request log.
bool looks_like_otlp(std::string_view text);

}  // namespace joulery
