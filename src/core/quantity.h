// One number, one unit. A type for each physical thing that Joulery computes with, so that only
// physical operations compile: Power * Duration is Energy, Energy * CarbonIntensity is Carbon, and
// Energy + Power is an error. Factories and accessors name the unit: joules(3), e.to_kilowatt_hours().
//
// Invariant: Energy is a whole number of microjoules, so that sums of parts are exact in any order
// (range ±9.2e12 J, 2.5 GWh). Duration is a whole number of nanoseconds (±292 years).
#pragma once

#include <cmath>
#include <compare>
#include <cstdint>

namespace joulery {

// A value of one kind; `Tag` keeps kinds apart, `Rep` is how the number is held.
template <class Tag, class Rep>
class Quantity {
 public:
  constexpr Quantity() = default;
  static constexpr Quantity of_base_units(Rep value) { return Quantity(value); }
  constexpr Rep base_units() const { return value_; }

  friend constexpr auto operator<=>(Quantity, Quantity) = default;
  friend constexpr Quantity operator+(Quantity a, Quantity b) { return Quantity(a.value_ + b.value_); }
  friend constexpr Quantity operator-(Quantity a, Quantity b) { return Quantity(a.value_ - b.value_); }
  constexpr Quantity operator-() const { return Quantity(-value_); }
  constexpr Quantity& operator+=(Quantity other) {
    value_ += other.value_;
    return *this;
  }
  constexpr Quantity& operator-=(Quantity other) {
    value_ -= other.value_;
    return *this;
  }

 private:
  explicit constexpr Quantity(Rep value) : value_(value) {}
  Rep value_{};
};

struct EnergyTag;
struct PowerTag;
struct DurationTag;
struct CarbonTag;
struct IntensityTag;
struct PriceTag;
struct CostTag;

using EnergyBase = Quantity<EnergyTag, std::int64_t>;
using Power = Quantity<PowerTag, double>;               // base unit: watt
using DurationBase = Quantity<DurationTag, std::int64_t>;
using Carbon = Quantity<CarbonTag, double>;             // base unit: gram of CO2 equivalent
using CarbonIntensity = Quantity<IntensityTag, double>; // base unit: gram per kilowatt-hour

inline constexpr double joules_per_kilowatt_hour = 3.6e6;
inline constexpr double grams_per_pound = 453.59237;    // exact, international pound

using Energy = EnergyBase;     // base unit: microjoule
using Duration = DurationBase; // base unit: nanosecond

// Rounds half away from zero; the caller keeps |value| below 9.2e18.
inline std::int64_t to_whole(double value) { return static_cast<std::int64_t>(std::llround(value)); }

constexpr Energy microjoules(std::int64_t value) { return Energy::of_base_units(value); }
inline Energy joules(double value) { return microjoules(to_whole(value * 1e6)); }
inline Energy kilowatt_hours(double value) { return joules(value * joules_per_kilowatt_hour); }
constexpr double to_joules(Energy e) { return static_cast<double>(e.base_units()) * 1e-6; }
constexpr double to_kilowatt_hours(Energy e) { return to_joules(e) / joules_per_kilowatt_hour; }

constexpr Power watts(double value) { return Power::of_base_units(value); }
constexpr double to_watts(Power p) { return p.base_units(); }

constexpr Duration nanoseconds(std::int64_t value) { return Duration::of_base_units(value); }
constexpr Duration milliseconds(std::int64_t value) { return nanoseconds(value * 1'000'000); }
inline Duration seconds(double value) { return nanoseconds(to_whole(value * 1e9)); }
constexpr double to_seconds(Duration d) { return static_cast<double>(d.base_units()) * 1e-9; }

constexpr Carbon grams(double value) { return Carbon::of_base_units(value); }
constexpr double to_grams(Carbon c) { return c.base_units(); }
constexpr CarbonIntensity grams_per_kilowatt_hour(double value) { return CarbonIntensity::of_base_units(value); }
constexpr CarbonIntensity pounds_per_megawatt_hour(double value) { return grams_per_kilowatt_hour(value * grams_per_pound / 1000.0); }
constexpr double to_grams_per_kilowatt_hour(CarbonIntensity i) { return i.base_units(); }

inline Energy operator*(Power p, Duration d) { return joules(to_watts(p) * to_seconds(d)); }
inline Energy operator*(Duration d, Power p) { return p * d; }
constexpr Power operator/(Energy e, Duration d) { return watts(to_joules(e) / to_seconds(d)); }
constexpr Carbon operator*(Energy e, CarbonIntensity i) { return grams(to_kilowatt_hours(e) * to_grams_per_kilowatt_hour(i)); }
constexpr double operator/(Energy a, Energy b) { return static_cast<double>(a.base_units()) / static_cast<double>(b.base_units()); }
constexpr double operator/(Duration a, Duration b) { return static_cast<double>(a.base_units()) / static_cast<double>(b.base_units()); }
inline Energy operator*(Energy e, double factor) { return microjoules(to_whole(static_cast<double>(e.base_units()) * factor)); }

}  // namespace joulery
