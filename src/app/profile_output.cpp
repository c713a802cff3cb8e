#include "app/profile_output.h"

#include <unistd.h>
#include <zlib.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <utility>

#include "publish/profile/chrome_copy.h"
#include "publish/profile/xplane_copy.h"

namespace joulery {
namespace {

// A file that is there under its name only once it is whole.
class PartFile {
 public:
  PartFile(std::string name, bool packed) : name_(std::move(name)), part_(name_ + ".part"), packed_(packed) {}
  PartFile(const PartFile&) = delete;
  PartFile& operator=(const PartFile&) = delete;
  ~PartFile() {
    if (gz_) gzclose(gz_);
    if (file_) std::fclose(file_);
    if (!done_) std::remove(part_.c_str());
  }

  Result<void> open() {
    file_ = std::fopen(part_.c_str(), "wbe");
    if (!file_) return std::unexpected(error_from_errno(errno, "cannot write the copy of the trace", part_));
    if (!packed_) return {};
    gz_ = gzdopen(::dup(fileno(file_)), "wb4");
    if (!gz_) return fail(ErrorCode::io, "cannot pack the copy of the trace", part_);
    return {};
  }
  bool put(std::string_view bytes) {
    if (bytes.empty()) return true;
    if (packed_) return gzwrite(gz_, bytes.data(), static_cast<unsigned>(bytes.size())) == static_cast<int>(bytes.size());
    return std::fwrite(bytes.data(), 1, bytes.size(), file_) == bytes.size();
  }
  Result<void> finish() {
    bool whole = !gz_ || gzclose(std::exchange(gz_, nullptr)) == Z_OK;
    whole = std::fclose(std::exchange(file_, nullptr)) == 0 && whole;
    if (!whole || std::rename(part_.c_str(), name_.c_str()) != 0)
      return std::unexpected(error_from_errno(errno, "cannot write the copy of the trace", name_));
    done_ = true;
    return {};
  }

 private:
  std::string name_, part_;
  bool packed_, done_ = false;
  std::FILE* file_ = nullptr;
  gzFile gz_ = nullptr;
};

bool is_json(const Profile& profile) { return profile.format == "kineto" || profile.format == "chrome-json"; }

Result<void> write(const ProfiledRun& run, bool as_xplane, const PutBytes& put) {
  const ProfileEnergySource* const source = run.source();
  const EnergyFinder energy(run.profile(), run.account(), source);
  if (!as_xplane && !is_json(run.profile())) return write_chrome_trace(energy, put);
  auto input = TraceInput::open(run.trace(), {});
  if (!input) return std::unexpected(input.error());
  return as_xplane ? copy_xplane(*input, energy, put) : copy_chrome_trace(*input, energy, put);
}

}  // namespace

Result<void> write_profile_copy(const ProfiledRun& run, const std::string& out) {
  std::error_code ignored;
  if (std::filesystem::equivalent(out, run.trace(), ignored))
    return fail(ErrorCode::usage, "the copy would overwrite the trace", out, "name another file");
  const bool as_xplane = out.ends_with(".pb");
  if (as_xplane && run.profile().format != "xplane")
    return fail(ErrorCode::usage, "only an xplane.pb becomes an xplane.pb, and this trace is " + run.profile().format, out,
                "name a .json or .json.gz");
  PartFile file(out, out.ends_with(".gz"));
  if (const auto opened = file.open(); !opened) return opened;
  if (const auto written = write(run, as_xplane, [&](std::string_view bytes) { return file.put(bytes); }); !written) {
    Error error = written.error();
    if (error.code == ErrorCode::io && error.where.empty()) error = error_from_errno(errno, error.what, out);
    return std::unexpected(error);
  }
  return file.finish();
}

}  // namespace joulery
