// Cells of other tools' tables: numbers with their units, and the many words for "no number".
//
// Invariant: locale plays no part; what is not wholly a number is a reason.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "record/import/imported_log.h"

namespace joulery {

// One line as cells: quotes as in RFC 4180, white space round a cell dropped.
std::vector<std::string> split_cells(std::string_view line, char separator);

// Without white space and line ends round it.
std::string_view cell_text(std::string_view text);

// "61.23 W" -> 61.23, "0x7f" -> a reason; "[N/A]" and its kin -> not_supported, "ERR!" -> io_error, "[GPU is lost]" ->
// device_lost, anything else that is no finite number -> rubbish. The unit that follows a number is not looked at.
std::expected<double, MissingReason> number_in(std::string_view cell);

// A cell as counts of `unit`, rounded to the nearest; what does not fit or is negative is rubbish.
LoggedValue value_in(std::string_view cell, double unit, double scale = 1.0);

// Adds a line to a device unless its time lies before the last one's; counts those left out.
void add_line(LoggedDevice& device, LoggedLine line, std::size_t& went_back);

// "clock-went-back: 3 lines", where any did.
void note_clock(ImportedLog& log, std::size_t went_back);

}  // namespace joulery
