#include "sense/agent/limit_messages.h"

#include <algorithm>

#include "sense/agent/json_members.h"

namespace joulery {
namespace {

using nlohmann::json;

constexpr std::int64_t most_requested_uw = 1'000'000'000'000;  // 1 MW
constexpr std::int64_t any = INT64_MAX;                          // hardware that is not limited may say anything
constexpr std::size_t longest_words = 2048;

json or_null(const std::optional<std::int64_t>& value) { return value ? json(*value) : json(); }

std::string cut(const std::string& text) { return text.substr(0, longest_words / 4); }  // a byte may take six in JSON, and many are told

json to_json(const PowerLimit& limit) {
  return {{"component", cut(limit.component.path())},
          {"name", cut(limit.name)},
          {"kind", cut(limit.kind)},
          {"usual", limit.usual},
          {"now_uw", or_null(limit.now_uw)},
          {"enforced_uw", or_null(limit.enforced_uw)},
          {"least_uw", or_null(limit.least_uw)},
          {"most_uw", or_null(limit.most_uw)},
          {"standard_uw", or_null(limit.standard_uw)},
          {"window_us", or_null(limit.window_us)},
          {"in_force", limit.in_force},
          {"settable", limit.settable},
          {"reason", cut(limit.reason)},
          {"remedy", cut(limit.remedy)},
          {"holder", cut(limit.holder)}};
}

std::optional<PowerLimit> parse_limit(const json& object) {
  Members members(object);
  PowerLimit limit;
  limit.component = Component(members.text("component", longest_words));
  limit.name = members.text("name", longest_words);
  limit.kind = members.text("kind", longest_words);
  limit.usual = members.flag("usual");
  limit.now_uw = members.whole_or_nothing("now_uw", any);
  limit.enforced_uw = members.whole_or_nothing("enforced_uw", any);
  limit.least_uw = members.whole_or_nothing("least_uw", any);
  limit.most_uw = members.whole_or_nothing("most_uw", any);
  limit.standard_uw = members.whole_or_nothing("standard_uw", any);
  limit.window_us = members.whole_or_nothing("window_us", any);
  limit.in_force = members.flag("in_force");
  limit.settable = members.flag("settable");
  limit.reason = members.text("reason", longest_words);
  limit.remedy = members.text("remedy", longest_words);
  limit.holder = members.text("holder", longest_words);
  members.require(!limit.component.path().empty());
  return members.good() ? std::optional(std::move(limit)) : std::nullopt;
}

std::optional<Result<LimitTaken>> parse_error(Members& members) {
  Error error;
  error.code = members.one_of("code", ErrorCode::internal);
  error.what = members.text("error", longest_words);
  error.where = members.text("where", longest_words);
  error.hint = members.text("hint", longest_words);
  members.require(!error.what.empty());
  if (!members.good()) return std::nullopt;
  return Result<LimitTaken>(std::unexpected(std::move(error)));
}

}  // namespace

std::string to_message(const MeterHead& head, std::span<const PowerLimit> limits) {
  json list = json::array();
  for (const PowerLimit& limit : limits.first(std::min(limits.size(), most_power_limits))) list.push_back(to_json(limit));
  std::string message = with_json(head, {{"limits", list}});
  while (message.size() > longest_meter_message && !list.empty()) {  // words longer than any that are written
    list.erase(list.begin() + static_cast<std::ptrdiff_t>(list.size() / 2), list.end());
    message = with_json(head, {{"limits", list}});
  }
  return message;
}

std::string to_message(const MeterHead& head, const LimitRequest& request) {
  return with_json(head, {{"component", request.component.path()}, {"name", request.name}, {"microwatts", request.microwatts}});
}

std::string to_message(const MeterHead& head, const Result<LimitTaken>& answer) {
  if (!answer)
    return with_json(head, {{"code", static_cast<int>(answer.error().code)},
                            {"error", cut(answer.error().what)},
                            {"where", cut(answer.error().where)},
                            {"hint", cut(answer.error().hint)}});
  return with_json(head, {{"name", cut(answer->name)},
                          {"before_uw", answer->before_uw},
                          {"asked_uw", answer->asked_uw},
                          {"took_uw", answer->took_uw},
                          {"enforced_uw", or_null(answer->enforced_uw)}});
}

std::string to_message(const MeterHead& head, std::span<const Undone> undone) {
  json list = json::array();
  for (const Undone& one : undone.first(std::min(undone.size(), most_power_limits)))
    list.push_back({{"settled", one.settled}, {"as_before", one.as_before}, {"text", cut(one.text)}});
  return with_json(head, {{"undone", list}});
}

std::optional<std::vector<PowerLimit>> parse_power_limits(std::string_view message) {
  const json object = json_of(message, MeterWord::limits);
  Members members(object);
  const json* list = members.array("limits", most_power_limits);
  if (!members.good()) return std::nullopt;
  std::vector<PowerLimit> limits;
  for (const json& one : *list) {
    auto limit = parse_limit(one);
    if (!limit) return std::nullopt;
    limits.push_back(*std::move(limit));
  }
  return limits;
}

std::optional<std::pair<MeterHead, LimitRequest>> parse_limit_request(std::string_view message) {
  if (message.size() > longest_limit_request) return std::nullopt;
  const json object = json_of(message, MeterWord::limit);
  Members members(object);
  LimitRequest request;
  request.component = Component(members.text("component", longest_name));
  request.name = members.text("name", longest_name);
  request.microwatts = members.whole("microwatts", most_requested_uw);
  members.require(!request.component.path().empty() && request.microwatts > 0);
  if (!members.good()) return std::nullopt;
  return std::pair(*parse_meter_head(message), std::move(request));
}

std::optional<Result<LimitTaken>> parse_limit_answer(std::string_view message) {
  const json object = json_of(message, MeterWord::limit);
  Members members(object);
  if (members.has("error")) return parse_error(members);
  LimitTaken taken;
  taken.name = members.text("name", longest_words);
  taken.before_uw = members.whole("before_uw", any);
  taken.asked_uw = members.whole("asked_uw", any);
  taken.took_uw = members.whole("took_uw", any);
  taken.enforced_uw = members.whole_or_nothing("enforced_uw", any);
  if (!members.good()) return std::nullopt;
  return Result<LimitTaken>(std::move(taken));
}

std::optional<std::vector<Undone>> parse_undone(std::string_view message) {
  const json object = json_of(message, MeterWord::give_back);
  Members members(object);
  const json* list = members.array("undone", most_power_limits);
  if (!members.good()) return std::nullopt;
  std::vector<Undone> undone;
  for (const json& one : *list) {
    Members told(one);
    undone.push_back({told.flag("settled"), told.flag("as_before"), told.text("text", longest_words)});
    if (!told.good()) return std::nullopt;
  }
  return undone;
}

}  // namespace joulery
