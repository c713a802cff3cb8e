#include "sense/node/freeipmi_api.h"

#include "core/shared_library.h"

namespace joulery {
namespace {

constexpr const char* library = "libfreeipmi.so.17";

}  // namespace

std::expected<FreeipmiApi, std::string> load_freeipmi() {
  const auto loaded = SharedLibrary::open({library});
  if (!loaded) return std::unexpected(std::string(library) + " is not installed");
  FreeipmiApi api{};
  const bool whole = loaded.find(api.create, "ipmi_ctx_create") && loaded.find(api.destroy, "ipmi_ctx_destroy") &&
                     loaded.find(api.close, "ipmi_ctx_close") && loaded.find(api.error_number, "ipmi_ctx_errnum") &&
                     loaded.find(api.open_lan, "ipmi_ctx_open_outofband_2_0") && loaded.find(api.raw, "ipmi_cmd_raw");
  if (!whole) return std::unexpected(std::string(library) + " lacks a function that is needed");
  return api;
}

}  // namespace joulery
