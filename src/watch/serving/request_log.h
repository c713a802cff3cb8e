// A model server's request log as JSON lines: one object a request. docs/integrations/serving.md says which fields there are.
//
// A line that is no request is left out and counted with the first reason: one odd line of a long log must not cost the others.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "watch/serving/served_request.h"

namespace joulery {

struct RequestLog {
  std::vector<ServedRequest> requests;   // in the order of the file
  std::size_t bad_lines = 0;
  std::string first_trouble;             // "line 3: no end"; "" where there is none
};

// Hands each line that is not blank to `take`, which adds its requests to `log` and gives why it is no good: "" where it is.
// Lines of more than `most_bytes` are not handed over. What is left out is counted in `log`.
void for_each_line(std::string_view text, std::size_t most_bytes, RequestLog& log,
                   const std::function<std::string_view(std::string_view)>& take);

// Longer lines are no requests.
inline constexpr std::size_t most_request_line_bytes = 1 << 20;

RequestLog parse_request_log(std::string_view text);

}  // namespace joulery
