// What an agent and its clients say about power limits (sense/agent/meter_messages.h): the list, a request, and what came of it.
//
// Invariant: as for all their messages, what does not parse is nothing.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.h"
#include "sense/agent/meter_messages.h"
#include "sense/agent/power_limit.h"

namespace joulery {

inline constexpr std::size_t most_power_limits = 256;     // a list of them fits into a message
inline constexpr std::size_t longest_limit_request = 2048;

std::string to_message(const MeterHead& head, std::span<const PowerLimit> limits);
std::string to_message(const MeterHead& head, const LimitRequest& request);
std::string to_message(const MeterHead& head, const Result<LimitTaken>& answer);
std::string to_message(const MeterHead& head, std::span<const Undone> undone);

std::optional<std::vector<PowerLimit>> parse_power_limits(std::string_view message);
// Also nothing where the power is not above 0.
std::optional<std::pair<MeterHead, LimitRequest>> parse_limit_request(std::string_view message);
std::optional<Result<LimitTaken>> parse_limit_answer(std::string_view message);
std::optional<std::vector<Undone>> parse_undone(std::string_view message);

}  // namespace joulery
