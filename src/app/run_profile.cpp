#include "app/run_profile.h"

#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>

#include "app/profiled_run.h"
#include "publish/profile/profile_text.h"

namespace joulery {
namespace {

constexpr std::size_t rows_of_each_table = 8;

WallTime written_at(const std::string& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) return {};
  return {static_cast<std::int64_t>(status.st_mtim.tv_sec) * 1'000'000'000 + status.st_mtim.tv_nsec};
}

}  // namespace

Result<std::string> offer_profile_folder(const std::string& folder) {
  std::error_code failed;
  const std::filesystem::path path = std::filesystem::absolute(folder, failed);
  if (!failed) std::filesystem::create_directories(path, failed);
  if (failed) return fail(ErrorCode::io, "cannot make the folder for profiles: " + failed.message(), folder, "name another with --profile");
  ::setenv(profile_variable, path.c_str(), 1);
  return path.string();
}

Result<std::string> told_profile(const std::string& folder, const std::string& recording, WallTime begin, const TextStyle& style) {
  const std::string hint = std::string("add a hook of the package joulery to its training, such as ") +
                           "model.fit(..., callbacks=[joulery.keras.Energy()]), or let its profiler write to $" + profile_variable +
                           "; joulery-run(1) shows both";
  const auto trace = newest_trace(folder);
  if (!trace || written_at(*trace) < begin) return fail(ErrorCode::not_found, "the command wrote no profile", folder, hint);
  const auto profiled = ProfiledRun::load({*trace, recording, "auto"});
  if (!profiled) return std::unexpected(profiled.error());
  return profile_text(profiled->told(), rows_of_each_table, style);
}

}  // namespace joulery
