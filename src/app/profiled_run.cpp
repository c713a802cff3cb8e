#include "app/profiled_run.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "watch/profile/read_profile.h"

namespace joulery {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view trace_endings[] = {".xplane.pb", ".pt.trace.json", ".pt.trace.json.gz", ".trace.json.gz", ".trace.json",
                                              ".sqlite",    ".pftrace",       ".perfetto-trace",   ".json",          ".json.gz"};

// The traces below `folder`, the newest last. Of two in one folder (JAX writes xplane.pb and trace.json.gz) the fuller, the xplane, is the last.
std::vector<fs::path> traces_in(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code ignored;
  for (const fs::directory_entry& entry :
       fs::recursive_directory_iterator(folder, fs::directory_options::skip_permission_denied, ignored)) {
    const std::string name = entry.path().filename().string();
    if (entry.is_regular_file(ignored) && std::ranges::any_of(trace_endings, [&](std::string_view end) { return name.ends_with(end); }))
      found.push_back(entry.path());
  }
  std::map<fs::path, fs::file_time_type> newest;  // of each folder
  for (const fs::path& path : found) newest[path.parent_path()] = std::max(newest[path.parent_path()], fs::last_write_time(path, ignored));
  std::ranges::sort(found, {}, [&](const fs::path& path) {
    return std::tuple(newest[path.parent_path()], path.parent_path(), path.string().ends_with(".xplane.pb"),
                      fs::last_write_time(path, ignored));
  });
  return found;
}

Result<std::optional<ClockMethod>> parse_clock(const std::string& text) {
  if (text == "auto") return std::nullopt;
  for (const ClockMethod method : {ClockMethod::marks, ClockMethod::wall, ClockMethod::load})
    if (text == name_of(method)) return method;
  return fail(ErrorCode::usage, "no such choice for --clock: '" + text + "'", "", "auto, marks, wall or load");
}

}  // namespace

Result<std::string> newest_trace(const std::string& path) {
  std::error_code ignored;
  if (!fs::is_directory(path, ignored)) return path;
  const std::vector<fs::path> found = traces_in(path);
  if (found.empty()) return fail(ErrorCode::not_found, "no profiler's trace is in the folder", path);
  return found.back().string();
}

Result<ProfiledRun> ProfiledRun::load(const ProfileRequest& request) {
  if (const auto known = parse_clock(request.clock); !known) return std::unexpected(known.error());
  ProfiledRun run;
  auto file = newest_trace(request.trace);
  if (!file) return std::unexpected(file.error());
  run.trace_ = std::move(*file);
  run.recording_ = request.recording;
  auto profile = read_profile(run.trace_);
  if (!profile) return std::unexpected(profile.error());
  run.profile_ = std::make_unique<Profile>(std::move(*profile));
  if (run.profile_->begin == run.profile_->end) return fail(ErrorCode::format, "the trace holds no event that takes time", run.trace_);
  if (!run.recording_.empty()) {
    if (const auto joined = run.join(request.clock); !joined) return std::unexpected(joined.error());
    run.source_.emplace(ProfileEnergySource{run.run_->ledger(), *run.clock_, run.opened_.get()});
    run.account_ = account_profile(*run.profile_, &*run.source_);
  } else {
    run.account_ = account_profile(*run.profile_, nullptr);
  }
  return run;
}

Result<void> ProfiledRun::join(const std::string& clock) {
  auto recording = Recording::open(recording_);
  if (!recording) return std::unexpected(recording.error());
  const auto maps = (*recording)->clock_maps();
  if (!maps) return std::unexpected(maps.error());
  auto loaded = LoadedRun::load(**recording, {});
  if (!loaded)
    return fail(loaded.error().code, loaded.error().what, loaded.error().where.empty() ? recording_ : loaded.error().where,
                loaded.error().hint);
  opened_ = std::move(*recording);
  run_ = std::make_unique<LoadedRun>(std::move(*loaded));
  const ClockEvidence evidence{run_->steps().steps, *maps, &run_->ledger(), run_->interval()};
  auto aligned = align(*profile_, evidence, *parse_clock(clock));
  if (!aligned) return std::unexpected(aligned.error());
  clock_ = std::move(*aligned);
  return {};
}

}  // namespace joulery
