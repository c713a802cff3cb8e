// Money for energy: a price per kilowatt-hour in one currency. Amounts of different currencies never meet: there are
// no exchange rates here. As with grams, what is paid for is the energy of the site: IT energy times PUE.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "core/quality.h"
#include "core/quantity.h"
#include "core/result.h"
#include "factors/carbon.h"

namespace joulery {

// An ISO 4217 code, three capital letters.
class Currency {
 public:
  // Any case. Errors: usage, with the nearest codes.
  static Result<Currency> parse(std::string_view text);
  std::string_view code() const { return {letters_.data(), letters_.size()}; }
  friend bool operator==(const Currency&, const Currency&) = default;

 private:
  Currency() = default;
  std::array<char, 3> letters_{};
};

using Price = Quantity<PriceTag, double>;  // base unit: one unit of the currency per kilowatt-hour
using Cost = Quantity<CostTag, double>;    // base unit: one unit of the currency

constexpr Price per_kilowatt_hour(double value) { return Price::of_base_units(value); }
constexpr Cost operator*(Energy energy, Price price) { return Cost::of_base_units(to_kilowatt_hours(energy) * price.base_units()); }
constexpr double to_units(Cost cost) { return cost.base_units(); }

struct Tariff {
  Price price;
  Currency currency;
  std::string source;        // "--tariff", the configuration file
};

struct Bill {
  Cost amount, low, high;    // low and high from the energy's 90 % interval
  Currency currency;
};

// kWh times PUE times price.
Bill bill_for(const Estimate& it_energy, const Tariff& tariff, const Pue& pue);

// "0.30EUR", "0.30 EUR/kWh", "EUR 0.30", "85 EUR/MWh". Errors: usage.
Result<Tariff> parse_tariff(std::string_view text, std::string source);

}  // namespace joulery
