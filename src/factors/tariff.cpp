#include "factors/tariff.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "core/near_names.h"
#include "factors/amount_text.h"

namespace joulery {
namespace {

// The currencies of ISO 4217 that are in use (funds, metals and testing codes left out).
constexpr std::string_view currencies =
    "AED AFN ALL AMD ANG AOA ARS AUD AWG AZN BAM BBD BDT BGN BHD BIF BMD BND BOB BRL BSD BTN BWP BYN BZD CAD CDF CHF CLP CNY COP CRC CUP "
    "CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GNF GTQ GYD HKD HNL HTG HUF IDR ILS INR IQD IRR ISK JMD JOD JPY "
    "KES KGS KHR KMF KPW KRW KWD KYD KZT LAK LBP LKR LRD LSL LYD MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK "
    "NPR NZD OMR PAB PEN PGK PHP PKR PLN PYG QAR RON RSD RUB RWF SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT "
    "TND TOP TRY TTD TWD TZS UAH UGX USD UYU UZS VES VND VUV WST XAF XCD XCG XOF XPF YER ZAR ZMW ZWG";

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// Kilowatt-hours that "/kWh", "/MWh" or nothing stand for.
std::optional<double> kilowatt_hours_of(std::string_view unit) {
  unit = trimmed(unit);
  if (unit.empty() || unit == "/kWh" || unit == "per kWh") return 1.0;
  if (unit == "/MWh" || unit == "per MWh") return 1000.0;
  return std::nullopt;
}

// What may have been meant; something that everybody knows where nothing is near.
std::vector<std::string> nearest_codes(std::string_view code, const std::vector<std::string>& known) {
  auto near = near_names(code, known, 3);
  return near.empty() ? std::vector<std::string>{"EUR", "USD"} : near;
}

std::unexpected<Error> bad_tariff(std::string_view text) {
  return fail(ErrorCode::usage, fmt::format("not a tariff: '{}'", text), "", "write for example 0.30 EUR/kWh");
}

}  // namespace

Result<Currency> Currency::parse(std::string_view text) {
  std::string code(text);
  for (char& c : code)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  std::vector<std::string> known;
  for (std::size_t at = 0; at < currencies.size(); at += 4) known.emplace_back(currencies.substr(at, 3));
  if (std::ranges::find(known, code) == known.end())
    return fail(ErrorCode::usage, fmt::format("unknown currency '{}'", text), "",
                fmt::format("write an ISO 4217 code such as {}", fmt::join(nearest_codes(code, known), ", ")));
  Currency currency;
  std::ranges::copy(code, currency.letters_.begin());
  return currency;
}

Result<Tariff> parse_tariff(std::string_view text, std::string source) {
  constexpr double highest = 1e9;
  std::string_view rest = trimmed(text), code;
  const auto take_code = [&] {
    const auto end = std::ranges::find_if_not(rest, is_letter);
    code = rest.substr(0, static_cast<std::size_t>(end - rest.begin()));
    rest.remove_prefix(code.size());
  };
  take_code();
  const auto amount = parse_amount(rest);
  if (!amount) return bad_tariff(text);
  rest = amount->unit;
  if (code.empty()) take_code();
  const auto kilowatt_hours = kilowatt_hours_of(rest);
  if (code.empty() || !kilowatt_hours) return bad_tariff(text);
  auto currency = Currency::parse(code);
  if (!currency) return std::unexpected(currency.error());
  const double price = amount->number / *kilowatt_hours;
  if (!(price >= 0 && price <= highest))
    return fail(ErrorCode::usage, fmt::format("a price of {:g} per kWh cannot be", price), std::string(text));
  return Tariff{per_kilowatt_hour(price), *currency, std::move(source)};
}

Bill bill_for(const Estimate& it_energy, const Tariff& tariff, const Pue& pue) {
  const auto cost_of = [&](Energy energy) { return site_energy(energy, pue) * tariff.price; };
  return {cost_of(it_energy.value), cost_of(it_energy.low), cost_of(it_energy.high), tariff.currency};
}

}  // namespace joulery
