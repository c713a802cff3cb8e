// What model servers publish for Prometheus, by kind of server: which series count tokens and requests, and which label
// names the model. One table, so that a new server or a renamed series is a line.
//
// Invariant: what a page does not count is empty with its reason, never 0.
#pragma once

#include <array>
#include <expected>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/prometheus_page.h"

namespace joulery {

// The name of a series by version of the server, newest first; empty ones stand for nothing.
using SeriesNames = std::array<std::string_view, 4>;

struct ServerKind {
  std::string_view name;         // "vllm"
  std::string_view title;        // "vLLM"
  std::array<std::string_view, 2> marks;  // beginnings of names that no other server's series have
  SeriesNames tokens_in, tokens_out, requests, running;
  std::array<std::string_view, 2> model_labels;
  std::string_view ok_label, ok_value;    // a request counts only with this label; "" where each does
  std::string_view no_tokens, no_requests;  // why it may not count them, where that is known; "" else
};
std::span<const ServerKind> server_kinds();
const ServerKind* find_server_kind(std::string_view name);

// What one model has done since the server started.
struct ModelCounts {
  std::optional<double> tokens_in, tokens_out, requests;
  std::optional<double> running;   // requests in work just now
};

struct ServerPage {
  const ServerKind* kind = nullptr;
  std::map<std::string, ModelCounts> models;  // by name; "" where the server names none
  // Why some of the counts are empty: "" where none is.
  std::string no_tokens_in, no_tokens_out, no_requests;
};

// `kind`: null to find out. Errors (as text): what is not there.
std::expected<ServerPage, std::string> read_server_page(const PrometheusPage& page, const ServerKind* kind);

}  // namespace joulery
