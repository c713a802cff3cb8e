#include "watch/serving/server_kinds.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace joulery {
namespace {

// vLLM: vllm/v1/metrics/loggers.py. SGLang: docs "Production Metrics", and its collector; later versions write '_' for ':'.
// TGI: docs "Metrics"; histograms, whose sums count. Triton: docs/user_guide/metrics.md; token histograms come with its LLM
// backends only. TensorFlow Serving: servables/tensorflow/util.cc, whose slashes Prometheus gets as colons. llama.cpp:
// tools/server/README.md. Docker Model Runner: METRICS.md.
constexpr ServerKind kinds[] = {
    {.name = "vllm",
     .title = "vLLM",
     .marks = {"vllm:"},
     .tokens_in = {"vllm:prompt_tokens_total", "vllm:prompt_tokens"},
     .tokens_out = {"vllm:generation_tokens_total", "vllm:generation_tokens"},
     .requests = {"vllm:request_success_total", "vllm:request_success", "vllm:e2e_request_latency_seconds_count"},
     .running = {"vllm:num_requests_running"},
     .model_labels = {"model_name"},
     .ok_label = {},
     .ok_value = {},
     .no_tokens = {},
     .no_requests = {}},
    {.name = "sglang",
     .title = "SGLang",
     .marks = {"sglang:", "sglang_"},
     .tokens_in = {"sglang:prompt_tokens_total", "sglang_prompt_tokens_total"},
     .tokens_out = {"sglang:generation_tokens_total", "sglang_generation_tokens_total"},
     .requests = {"sglang:num_requests_total", "sglang_num_requests_total", "sglang:e2e_request_latency_seconds_count",
                  "sglang_e2e_request_latency_seconds_count"},
     .running = {"sglang:num_running_reqs", "sglang_num_running_reqs"},
     .model_labels = {"model_name"},
     .ok_label = {},
     .ok_value = {},
     .no_tokens = {},
     .no_requests = "versions before 0.4 do not count requests"},
    {.name = "tgi",
     .title = "TGI",
     .marks = {"tgi_"},
     .tokens_in = {"tgi_request_input_length_sum"},
     .tokens_out = {"tgi_request_generated_tokens_sum"},
     .requests = {"tgi_request_success", "tgi_request_success_total", "tgi_request_generated_tokens_count"},
     .running = {"tgi_batch_current_size"},
     .model_labels = {"model_id", "model_name"},
     .ok_label = {},
     .ok_value = {},
     .no_tokens = "TGI has these series only after its first request",
     .no_requests = "TGI has these series only after its first request"},
    {.name = "triton",
     .title = "Triton",
     .marks = {"nv_inference_"},
     .tokens_in = {"nv_llm_input_token_len_sum"},
     .tokens_out = {"nv_llm_output_token_len_sum"},
     .requests = {"nv_inference_request_success"},
     .running = {"nv_inference_pending_request_count"},
     .model_labels = {"model"},
     .ok_label = {},
     .ok_value = {},
     .no_tokens = "Triton counts tokens for its LLM backends only",
     .no_requests = {}},
    {.name = "tensorflow-serving",
     .title = "TensorFlow Serving",
     .marks = {":tensorflow:serving:"},
     .tokens_in = {},
     .tokens_out = {},
     .requests = {":tensorflow:serving:request_count", ":tensorflow:serving:request_latency_count"},
     .running = {},
     .model_labels = {"model_name", "model"},
     .ok_label = "status",
     .ok_value = "OK",
     .no_tokens = "TensorFlow Serving knows no tokens",
     .no_requests = {}},
    {.name = "llama.cpp",
     .title = "llama.cpp",
     .marks = {"llamacpp:"},
     .tokens_in = {"llamacpp:prompt_tokens_total"},
     .tokens_out = {"llamacpp:tokens_predicted_total", "llamacpp:n_tokens_predicted_total"},
     .requests = {},
     .running = {"llamacpp:requests_processing"},
     .model_labels = {"model"},
     .ok_label = {},
     .ok_value = {},
     .no_tokens = {},
     .no_requests = "llama.cpp counts no requests: --proxy does"},
    {.name = "docker-model-runner",
     .title = "Docker Model Runner",
     .marks = {"llama_prompt_tokens", "llama_generation_tokens"},
     .tokens_in = {"llama_prompt_tokens_total"},
     .tokens_out = {"llama_generation_tokens_total"},
     .requests = {"llama_requests_total"},
     .running = {"llama_requests_processing"},
     .model_labels = {"model"},
     .ok_label = {},
     .ok_value = {},
     .no_tokens = {},
     .no_requests = {}},
};

bool has_mark(const PrometheusPage& page, const ServerKind& kind) {
  return std::ranges::any_of(page.samples, [&](const PrometheusSample& sample) {
    return std::ranges::any_of(kind.marks, [&](std::string_view mark) { return !mark.empty() && sample.name.starts_with(mark); });
  });
}

// The first of the names that the page has; "" where it has none.
std::string_view present(const PrometheusPage& page, const SeriesNames& names) {
  for (const std::string_view name : names)
    if (!name.empty() && std::ranges::find(page.samples, name, &PrometheusSample::name) != page.samples.end()) return name;
  return {};
}

std::string model_of(const PrometheusSample& sample, const ServerKind& kind) {
  for (const std::string_view label : kind.model_labels)
    if (!label.empty() && !sample.label(label).empty()) return std::string(sample.label(label));
  return {};
}

// Each rank of a tensor-parallel server may tell the same counts: the first one speaks.
bool repeats_another(const PrometheusSample& sample) {
  const std::string_view rank = sample.label("tp_rank");
  return !rank.empty() && rank != "0";
}

bool add_counts(const PrometheusPage& page, const ServerKind& kind, const SeriesNames& names, std::optional<double> ModelCounts::* to,
                bool only_ok, std::map<std::string, ModelCounts>& models) {
  const std::string_view name = present(page, names);
  if (name.empty()) return false;
  for (const PrometheusSample& sample : page.samples) {
    if (sample.name != name || !std::isfinite(sample.value) || sample.value < 0 || repeats_another(sample)) continue;
    const bool ok =
        !only_ok || kind.ok_label.empty() || sample.label(kind.ok_label).empty() || sample.label(kind.ok_label) == kind.ok_value;
    std::optional<double>& counted = models[model_of(sample, kind)].*to;
    counted = counted.value_or(0) + (ok ? sample.value : 0);
  }
  return true;
}

std::string why_not(const SeriesNames& names, std::string_view known) {
  if (!known.empty()) return std::string(known);
  return names.front().empty() ? std::string("this server does not count them") : fmt::format("its page has no {}", names.front());
}

}  // namespace

std::span<const ServerKind> server_kinds() { return kinds; }

const ServerKind* find_server_kind(std::string_view name) {
  const auto* found = std::ranges::find(kinds, name, &ServerKind::name);
  return found == std::end(kinds) ? nullptr : found;
}

std::expected<ServerPage, std::string> read_server_page(const PrometheusPage& page, const ServerKind* kind) {
  ServerPage read;
  read.kind = kind;
  for (const ServerKind& known : kinds)
    if (!read.kind && has_mark(page, known)) read.kind = &known;
  if (!read.kind)
    return std::unexpected(page.samples.empty() ? "its page has no metrics" : "its page has no metrics of a model server that is known");
  if (!has_mark(page, *read.kind)) return std::unexpected(fmt::format("its page has no metrics of {}", read.kind->title));
  if (!add_counts(page, *read.kind, read.kind->tokens_in, &ModelCounts::tokens_in, false, read.models))
    read.no_tokens_in = why_not(read.kind->tokens_in, read.kind->no_tokens);
  if (!add_counts(page, *read.kind, read.kind->tokens_out, &ModelCounts::tokens_out, false, read.models))
    read.no_tokens_out = why_not(read.kind->tokens_out, read.kind->no_tokens);
  if (!add_counts(page, *read.kind, read.kind->requests, &ModelCounts::requests, true, read.models))
    read.no_requests = why_not(read.kind->requests, read.kind->no_requests);
  add_counts(page, *read.kind, read.kind->running, &ModelCounts::running, false, read.models);
  return read;
}

}  // namespace joulery
