#include "app/import_steps.h"

#include <fmt/format.h>

#include "record/import/cells.h"
#include "record/import/wall_clock.h"
#include "sense/parse_number.h"

namespace joulery {

Result<std::vector<Mark>> marks_of_steps(std::string_view text, const LogClock& clock, Duration utc_offset) {
  std::vector<Mark> marks;
  std::optional<WallTime> last;
  std::size_t number = 0;
  while (!text.empty()) {
    ++number;
    const std::string_view line = cell_text(next_line(text));
    if (line.empty()) continue;
    const auto at = parse_wall_time(line, utc_offset);
    if (!at && number == 1) continue;
    const std::string where = fmt::format("line {}", number);
    if (!at) return fail(ErrorCode::format, "not a time", where, "one time a line, such as 2026-03-01T10:00:00.250+01:00");
    if (last && *at < *last) return fail(ErrorCode::format, "the times of the steps go back", where, "");
    if (last && *at > *last) {
      marks.push_back({clock.at(*last), 0, 0, MarkKind::step_begin, default_step_name, 0});
      marks.push_back({clock.at(*at), 0, 0, MarkKind::step_end, default_step_name, 0});
    }
    last = at;
  }
  if (marks.empty()) return fail(ErrorCode::format, "no two different times", "", "one time a line, such as 2026-03-01T10:00:00.250+01:00");
  return marks;
}

}  // namespace joulery
