#include "sense/remote/curl_api.h"

#include <dlfcn.h>

#include <optional>

namespace joulery {
namespace {

template <class Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  return function != nullptr;
}

std::optional<CurlApi> load() {
  // Never unloaded: its own threads and handlers may outlive us.
  void* library = ::dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
  if (!library) library = ::dlopen("libcurl-gnutls.so.4", RTLD_NOW | RTLD_LOCAL);
  if (!library) return std::nullopt;
  CurlApi api{};
  decltype(&::curl_global_init) initialise = nullptr;
  const bool whole = find(library, "curl_global_init", initialise) && find(library, "curl_easy_init", api.init) &&
                     find(library, "curl_easy_setopt", api.set_option) && find(library, "curl_easy_getinfo", api.get_info) &&
                     find(library, "curl_easy_perform", api.perform) && find(library, "curl_easy_reset", api.reset) &&
                     find(library, "curl_easy_cleanup", api.cleanup) && find(library, "curl_easy_strerror", api.describe) &&
                     find(library, "curl_slist_append", api.append) && find(library, "curl_slist_free_all", api.free_list);
  if (!whole || initialise(CURL_GLOBAL_DEFAULT) != CURLE_OK) return std::nullopt;
  return api;
}

}  // namespace

const CurlApi* curl() {
  static const std::optional<CurlApi> api = load();
  return api ? &*api : nullptr;
}

}  // namespace joulery
