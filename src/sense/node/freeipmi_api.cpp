#include "sense/node/freeipmi_api.h"

#include <dlfcn.h>

namespace joulery {
namespace {

constexpr const char* library = "libfreeipmi.so.17";

template <class Function>
bool find(void* handle, Function*& function, const char* name) {
  function = reinterpret_cast<Function*>(::dlsym(handle, name));
  return function != nullptr;
}

}  // namespace

std::expected<FreeipmiApi, std::string> load_freeipmi() {
  void* handle = ::dlopen(library, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (!handle) return std::unexpected(std::string(library) + " is not installed");
  FreeipmiApi api{};
  const bool whole = find(handle, api.create, "ipmi_ctx_create") && find(handle, api.destroy, "ipmi_ctx_destroy") &&
                     find(handle, api.close, "ipmi_ctx_close") && find(handle, api.error_number, "ipmi_ctx_errnum") &&
                     find(handle, api.open_lan, "ipmi_ctx_open_outofband_2_0") && find(handle, api.raw, "ipmi_cmd_raw");
  ::dlclose(handle);  // the library stays: RTLD_NODELETE
  if (!whole) return std::unexpected(std::string(library) + " lacks a function that is needed");
  return api;
}

}  // namespace joulery
