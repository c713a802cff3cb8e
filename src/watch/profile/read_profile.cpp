#include "watch/profile/read_profile.h"

#include "watch/profile/kineto.h"
#include "watch/profile/nsys.h"
#include "watch/profile/perfetto_trace.h"
#include "watch/profile/xplane.h"

namespace joulery {
namespace {

struct Format {
  bool (*is)(std::string_view start);
  Result<Profile> (*read)(TraceInput& input);
};

// In the order in which they are tried.
constexpr Format formats[] = {
    {is_json_trace, read_kineto},
    {is_sqlite, read_nsys},
    {is_perfetto, read_perfetto},
    {is_xplane, read_xplane},
};

}  // namespace

Result<Profile> read_profile(const std::string& path, const ProfileLimits& limits) {
  auto input = TraceInput::open(path, limits);
  if (!input) return std::unexpected(input.error());
  return read_profile(*input);
}

Result<Profile> read_profile(TraceInput& input) {
  if (const auto got = input.want(4096); !got) return std::unexpected(got.error());
  for (const Format& format : formats)
    if (format.is(input.window())) return format.read(input);
  return fail(ErrorCode::unsupported, "not a trace of a known format", input.name(),
              "known: PyTorch's and Chrome's JSON, XLA's xplane.pb, nsys export --type sqlite, Perfetto");
}

}  // namespace joulery
