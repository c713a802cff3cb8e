// /api/v1/servers.
#include "app/agent/api.h"
#include "publish/json_writer.h"
#include "publish/server_metrics.h"

namespace joulery {
namespace {

void write_server(JsonWriter& json, const ServerAccount& server, bool rounded) {
  json.begin_object();
  json.key("name").text(server.name);
  json.key("server").text_or_null(server.title);
  json.key("reason").text_or_null(server.reason);
  json.key("node_joules").energy(rounded ? rounded_for_open(server.node) : server.node);
  json.key("watched_seconds").number(to_seconds(server.watched));
  json.key("lost_seconds").number(to_seconds(server.lost));
  const auto fine = [&](const std::optional<double>& value) { return rounded ? std::nullopt : value; };
  json.key("joules_per_output_token").number(fine(server.joules_per_output_token));
  json.key("joules_per_token").number(fine(server.joules_per_token));
  json.key("joules_per_request").number(fine(server.joules_per_request));
  json.key("models").begin_array();
  for (const auto& [name, model] : server.models) {
    json.begin_object();
    json.key("name").text_or_null(name);
    json.key("tokens_in").number(model.tokens_in);
    json.key("tokens_out").number(model.tokens_out);
    json.key("requests").number(model.requests);
    json.end_object();
  }
  json.end_array().end_object();
}

}  // namespace

HttpAnswer Api::servers(const ApiCall& call) {
  JsonWriter json(0);
  json.begin_object().key("schema").text("joulery.servers/1");
  json.key("rounded").boolean(!call.trusted);
  json.key("servers").begin_array();
  for (const ServerAccount& server : view_.servers()) write_server(json, server, !call.trusted);
  json.end_array().end_object();
  HttpAnswer answer;
  answer.body = json.str() + "\n";
  return answer;
}

}  // namespace joulery
