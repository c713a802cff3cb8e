// The one list of formats that `joulery import` reads, and the choice among them by what the text looks like.
#pragma once

#include <span>
#include <string_view>

#include "record/import/imported_log.h"

namespace joulery {

struct LogFormat {
  std::string_view name;                              // "nvidia-smi-csv", as on the command line
  bool (*looks_like)(std::string_view text);          // cheap: the beginning is enough
  Result<ImportedLog> (*read)(std::string_view text, const ImportOptions& options);
};

std::span<const LogFormat> log_formats();

// Reads a log in the format named, or where `format` is "" in the first that it looks like. Errors: usage (no such format);
// format, naming the line, where the text is not one of them or holds nothing that tells power or energy.
Result<ImportedLog> import_log(std::string_view text, std::string_view format, const ImportOptions& options);

}  // namespace joulery
