#include <fmt/format.h>

#include "app/agent/api.h"
#include "app/agent/api_consumers.h"
#include "publish/json_writer.h"

namespace joulery {
namespace {

// The ten that use most power just now.
const ConsumerChoice usual_choice{{ConsumerKind::process}, 10, ConsumerOrder::watts};

}  // namespace

HttpAnswer Api::events(const ApiCall& call) {
  if (const auto choice = consumer_choice(call.request, usual_choice); !choice) return error_answer(choice.error());
  HttpAnswer answer;
  answer.content_type = "text/event-stream; charset=utf-8";
  answer.headers.emplace_back("X-Accel-Buffering", "no");
  answer.body = "retry: 2000\n\n" + event_text(call.request, call.trusted);
  answer.stream = true;
  return answer;
}

std::string Api::event_text(const HttpRequest& request, bool trusted) {
  const NodeAccount* now = account(trusted);
  const auto choice = consumer_choice(request, usual_choice);
  if (!now || !choice) return "";
  JsonWriter json(0);
  json.begin_object().key("schema").text("joulery.event/1");
  write_node(json, *now, !trusted);
  write_consumers(json, *now, *choice);
  json.end_object();
  return fmt::format("event: tick\nid: {}\ndata: {}\n\n", (trusted ? exact_ : open_).generation, json.str());
}

std::string Api::event(const HttpRequest& stream) {
  const bool trusted = access_.judge(stream, false).trusted;  // whether it may read at all was judged when it began
  account(trusted);
  // Nothing new for this reader: the rounded account changes no more than once a second.
  if ((trusted ? exact_ : open_).generation != view_.generation()) return "";
  return event_text(stream, trusted);
}

}  // namespace joulery
