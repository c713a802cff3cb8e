#include "sense/room/snmp_source.h"

#include <fmt/format.h>

#include <cmath>
#include <string>
#include <utility>

namespace joulery {
namespace {

using Kind = SnmpValue::Kind;
constexpr double thousandth = 1e-3;
constexpr double most_counts = 9.2e15;  // in thousandths that is 9.2e18, the most that a reading holds
constexpr std::uint64_t counter32_values = std::uint64_t{1} << 32;

std::unexpected<Trouble> no(std::string what) { return std::unexpected(Trouble{MissingReason::not_supported, std::move(what), ""}); }

std::expected<std::int64_t, MissingReason> thousandths_of(const SnmpValue& value) {
  const auto number = number_of(value);
  if (!number || *number < 0 || *number > most_counts) return std::unexpected(MissingReason::rubbish);
  const bool whole = value.kind == Kind::whole || value.kind == Kind::counter32;
  return whole ? value.whole * 1000 : std::llround(*number / thousandth);
}

}  // namespace

SnmpSource::SnmpSource(std::unique_ptr<SnmpTransport> transport, PduValue value, Channel channel)
    : transport_(std::move(transport)), value_(std::move(value)), channel_(std::move(channel)) {
  const bool power = value_.measurand == Measurand::power;
  channel_.name = power ? "power" : "energy";
  channel_.measurand = value_.measurand;
  channel_.behaviour = power ? Behaviour::gauge : Behaviour::counter;
  known_ = power && !value_.digits;
  if (known_) set_unit(value_.unit, false);
}

std::vector<Channel> SnmpSource::channels() const { return known_ ? std::vector<Channel>{channel_} : std::vector<Channel>(); }

// Half a step is what the device cannot show of a power.
void SnmpSource::set_unit(double unit, bool fractions) {
  channel_.unit = unit * thousandth;
  if (value_.measurand == Measurand::power && !fractions) channel_.accuracy.absolute = watts(unit / 2);
}

Answer<void> SnmpSource::learn(const std::vector<SnmpValue>& told) {
  const SnmpValue& now = told.front();
  if (now.kind == Kind::absent) return no(fmt::format("the device has no object {}", to_text(value_.oid)));
  if (!number_of(now)) return no(fmt::format("the object {} is no number", to_text(value_.oid)));
  if (known_) {
    answered_ = true;
    return {};
  }
  double unit = value_.unit;
  if (value_.digits && value_.unit_code) {
    if (told.size() < 3 || told[1].kind != Kind::whole || told[2].kind != Kind::whole)
      return no(fmt::format("the device does not tell the unit of {}: no object {} or {}", to_text(value_.oid), to_text(*value_.digits),
                            to_text(*value_.unit_code)));
    const auto told_unit = raritan_unit(value_.measurand, told[1].whole, told[2].whole);
    if (!told_unit)
      return no(fmt::format("the device gives {} in its unit {} with {} decimal digits, which is no {}", to_text(value_.oid), told[2].whole,
                            told[1].whole, channel_.name));
    unit = *told_unit;
  }
  set_unit(unit, now.kind == Kind::real || now.kind == Kind::text);
  if (channel_.behaviour == Behaviour::counter && now.kind == Kind::counter32) channel_.range = counter32_values * 1000 - 1;
  known_ = answered_ = true;
  return {};
}

Answer<RemoteAnswer> SnmpSource::ask(Duration limit) {
  std::vector<SnmpOid> oids{value_.oid};
  if (!known_ && value_.digits && value_.unit_code) oids.insert(oids.end(), {*value_.digits, *value_.unit_code});
  const auto told = transport_->get(oids, limit);
  if (!told) return std::unexpected(told.error());
  if (told->empty()) return std::unexpected(Trouble{MissingReason::rubbish, "an answer without the object that was asked for"});
  if (!answered_) {
    if (const auto learnt = learn(*told); !learnt) return std::unexpected(learnt.error());
  }
  if (told->front().kind == Kind::absent)
    return std::unexpected(Trouble{MissingReason::gone, fmt::format("no object {} any more", to_text(value_.oid))});
  const auto value = thousandths_of(told->front());
  if (!value) return std::unexpected(Trouble{value.error(), fmt::format("the object {} is no {}", to_text(value_.oid), channel_.name)});
  return RemoteAnswer{{*value}};
}

}  // namespace joulery
