#include "sense/remote/curl_api.h"

#include <optional>

#include "core/shared_library.h"

namespace joulery {
namespace {

std::optional<CurlApi> load() {
  const auto library = SharedLibrary::open({"libcurl.so.4", "libcurl-gnutls.so.4"});
  if (!library) return std::nullopt;
  CurlApi api{};
  decltype(&::curl_global_init) initialise = nullptr;
  const bool whole = library.find(initialise, "curl_global_init") && library.find(api.init, "curl_easy_init") &&
                     library.find(api.set_option, "curl_easy_setopt") && library.find(api.get_info, "curl_easy_getinfo") &&
                     library.find(api.perform, "curl_easy_perform") && library.find(api.reset, "curl_easy_reset") &&
                     library.find(api.cleanup, "curl_easy_cleanup") && library.find(api.describe, "curl_easy_strerror") &&
                     library.find(api.append, "curl_slist_append") && library.find(api.free_list, "curl_slist_free_all");
  if (!whole || initialise(CURL_GLOBAL_DEFAULT) != CURLE_OK) return std::nullopt;
  return api;
}

}  // namespace

const CurlApi* curl() {
  static const std::optional<CurlApi> api = load();
  return api ? &*api : nullptr;
}

}  // namespace joulery
