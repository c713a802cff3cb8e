// A sensor's label as one part of a component's path.
#pragma once

#include <string>
#include <string_view>

namespace joulery {

// Letters, digits, '.', '_', '-' and '+' stay, anything else becomes '-': "CPU / GPU" -> "CPU---GPU".
inline std::string component_part(std::string_view label) {
  std::string part(label);
  for (char& c : part) {
    const bool stays =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-' || c == '+';
    if (!stays) c = '-';
  }
  return part;
}

}  // namespace joulery
