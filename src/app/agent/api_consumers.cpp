#include "app/agent/api_consumers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <string>
#include <vector>

#include "app/agent/api.h"
#include "core/near_names.h"

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

std::unexpected<Error> unknown_kind(const std::string& text) {
  std::vector<std::string> names;
  for (auto kind = ConsumerKind::process; kind < ConsumerKind::idle; kind = static_cast<ConsumerKind>(static_cast<int>(kind) + 1))
    names.emplace_back(name_of(kind));
  const std::string nearest = nearest_name(text, names);
  return fail(ErrorCode::usage, fmt::format("no kind of consumer is called '{}'", text), "kind",
              nearest.empty() ? fmt::format("there are {}", fmt::join(names, ", ")) : "did you mean '" + nearest + "'?");
}

}  // namespace

Result<ConsumerChoice> consumer_choice(const HttpRequest& request, ConsumerChoice usual) {
  if (const std::string* text = request.parameter("kind")) {
    const auto kind = parse_consumer_kind(*text);
    if (!kind) return unknown_kind(*text);
    usual.kind = *kind;
  }
  if (const std::string* text = request.parameter("top")) {
    const auto top = parse_top(*text);
    if (!top) return std::unexpected(top.error());
    usual.most = *top;
  }
  if (const std::string* text = request.parameter("sort")) {
    const auto order = parse_consumer_order(*text);
    if (!order) return fail(ErrorCode::usage, fmt::format("cannot sort by '{}'", *text), "sort", "sort by watts, joules, cpu or name");
    usual.order = *order;
  }
  if (const std::string* text = request.parameter("filter")) usual.filter = *text;
  return usual;
}

HttpAnswer Api::consumers(const ApiCall& call) {
  const auto choice = consumer_choice(call.request, {});
  if (!choice) return error_answer(choice.error());
  const NodeAccount* now = account(call.trusted);
  if (!now) return not_ready();
  HttpAnswer answer;
  answer.body = consumers_json(*now, *choice, !call.trusted, 0);
  return answer;
}

}  // namespace joulery
