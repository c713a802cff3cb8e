#include "app/agent/api_consumers.h"

#include <fmt/format.h>

#include <charconv>
#include <utility>

#include "app/agent/api.h"
#include "publish/json_writer.h"

namespace joulery {
namespace {

constexpr std::size_t most_rows = 1'000'000;

Result<std::size_t> parse_top(const std::string& text) {
  std::size_t top = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), top);
  if (error != std::errc() || end != text.data() + text.size() || top == 0 || top > most_rows)
    return fail(ErrorCode::usage, fmt::format("'{}' is no number of rows", text), "top", "give a whole number from 1 on");
  return top;
}

}  // namespace

Result<ConsumerChoice> consumer_choice(const HttpRequest& request, ConsumerChoice usual) {
  if (const std::string* text = request.parameter("kind")) {
    auto kinds = parse_kinds(*text);
    if (!kinds) return std::unexpected(kinds.error());
    usual.kinds = *std::move(kinds);
  }
  if (const std::string* text = request.parameter("top")) {
    const auto top = parse_top(*text);
    if (!top) return std::unexpected(top.error());
    usual.top = *top;
  }
  if (const std::string* text = request.parameter("sort")) {
    const auto order = parse_order(*text);
    if (!order) return std::unexpected(order.error());
    usual.order = *order;
  }
  return usual;
}

HttpAnswer Api::consumers(const ApiCall& call) {
  const auto choice = consumer_choice(call.request, {});
  if (!choice) return error_answer(choice.error());
  const NodeAccount* now = account(call.trusted);
  if (!now) return not_ready();
  HttpAnswer answer;
  answer.body = consumers_json(*now, *choice, !call.trusted);
  return answer;
}

}  // namespace joulery
