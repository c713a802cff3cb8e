// Quantities as people write them: "1.5kWh", "250mW", "90s", "100 ms". The point is '.' whatever the locale says.
#pragma once

#include <string>
#include <string_view>

#include "core/quantity.h"
#include "core/result.h"

namespace joulery {

// A number and a unit with an SI prefix (n u µ m k M G T P); white space between them is allowed.
// Errors: `usage`, naming the text and the units that would do.
Result<Energy> parse_energy(std::string_view text);        // J, Wh, Ws; magnitude below 9.2e12 J
Result<Power> parse_power(std::string_view text);          // W
Result<Duration> parse_duration(std::string_view text);    // ns us ms s min h d, also "1h30m" and "1m30s"; 'm' is minutes

// Three significant digits or more with the prefix that keeps the number in [1, 1000): "1.50 kJ", "250 mW", "0 J".
std::string to_text(Energy energy);
std::string to_text(Power power);
std::string to_text(Duration duration);                    // "250 ms", "12.3 s", "2 min 05 s", "1 h 02 min"
std::string to_text(Carbon carbon);                        // "12.3 mg CO2e"

// The shortest decimal that reads back as the same double; for machines. Never a locale's comma.
std::string to_decimal(double value);

}  // namespace joulery
