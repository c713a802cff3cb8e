#include "publish/server_metrics.h"

#include <cmath>

#include "publish/utf8.h"

namespace joulery {
namespace {

enum Family : std::size_t { joules_total, watched, lost, tokens, requests, per_output_token, per_token, per_request };

void add(MetricFamily& family, std::vector<std::pair<std::string, std::string>> labels, MetricValue value) {
  family.samples.push_back({std::move(labels), value});
}

void add_real(MetricFamily& family, const std::string& server, const std::optional<double>& value) {
  if (value) add(family, {{"server", server}}, MetricValue::real(*value));
}

void add_count(MetricFamily& family, std::vector<std::pair<std::string, std::string>> labels, const std::optional<double>& count) {
  if (count) add(family, std::move(labels), MetricValue::whole(std::llround(*count)));
}

}  // namespace

Energy rounded_for_open(Energy energy) { return microjoules(energy.base_units() / 1'000'000 * 1'000'000); }

std::vector<MetricFamily> server_metric_families() {
  using enum MetricType;
  return {
      {"joulery_server_node_joules_total", counter, "joules", "Energy of the node while it was known what this server did.", {}},
      {"joulery_server_watched_seconds_total", counter, "seconds", "For how long that was.", {}},
      {"joulery_server_lost_seconds_total", counter, "seconds", "For how long nothing was known: no answer, or a restart.", {}},
      {"joulery_server_tokens_total", counter, "", "Tokens of prompts (in) and answers (out) meanwhile, by model.", {}},
      {"joulery_server_requests_total", counter, "", "Requests that were answered meanwhile, by model.", {}},
      {"joulery_server_joules_per_output_token", gauge, "", "Joules of the node per token of answers, over the last minute.", {}},
      {"joulery_server_joules_per_token", gauge, "", "Joules of the node per token of prompts and answers, over the last minute.", {}},
      {"joulery_server_joules_per_request", gauge, "", "Joules of the node per request, over the last minute.", {}},
  };
}

std::vector<MetricFamily> server_metrics(std::span<const ServerAccount> servers, bool rounded) {
  std::vector<MetricFamily> families = server_metric_families();
  for (const ServerAccount& server : servers) {
    add(families[joules_total], {{"server", server.name}}, MetricValue::of(rounded ? rounded_for_open(server.node) : server.node));
    add(families[watched], {{"server", server.name}}, MetricValue::of(server.watched));
    add(families[lost], {{"server", server.name}}, MetricValue::of(server.lost));
    for (const auto& [name, model] : server.models) {
      const std::string shown = valid_utf8(name);
      add_count(families[tokens], {{"direction", "in"}, {"model", shown}, {"server", server.name}}, model.tokens_in);
      add_count(families[tokens], {{"direction", "out"}, {"model", shown}, {"server", server.name}}, model.tokens_out);
      add_count(families[requests], {{"model", shown}, {"server", server.name}}, model.requests);
    }
    if (rounded) continue;
    add_real(families[per_output_token], server.name, server.joules_per_output_token);
    add_real(families[per_token], server.name, server.joules_per_token);
    add_real(families[per_request], server.name, server.joules_per_request);
  }
  std::erase_if(families, [](const MetricFamily& family) { return family.samples.empty(); });
  return families;
}

}  // namespace joulery
