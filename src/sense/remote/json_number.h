// One number out of a JSON text, by JSON pointer (RFC 6901): "/StatusSNS/ENERGY/Power".
#pragma once

#include <string_view>

#include "sense/trouble.h"

namespace joulery {

// True where `text` is a JSON pointer: "" or parts that each begin with '/', '~' only as ~0 or ~1.
bool is_json_pointer(std::string_view text);

// The number there; a text that is a number counts, as devices write them. Always finite. Errors: rubbish, where the text is no
// JSON or there is no number; not_supported, where there is nothing.
Answer<double> number_at(std::string_view json, std::string_view pointer);

// A finite decimal number, the whole text: "12.5", "-3e2". Nothing for anything else.
bool parse_decimal(std::string_view text, double& number);

}  // namespace joulery
