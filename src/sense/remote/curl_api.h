// libcurl behind a table of functions, loaded at run time: its headers give the declarations, and nothing is linked.
#pragma once

#define CURL_DISABLE_TYPECHECK  // its macros would name functions that are not linked
#include <curl/curl.h>

namespace joulery {

struct CurlApi {
  decltype(&::curl_easy_init) init;
  CURLcode (*set_option)(CURL*, CURLoption, ...);
  CURLcode (*get_info)(CURL*, CURLINFO, ...);
  decltype(&::curl_easy_perform) perform;
  decltype(&::curl_easy_reset) reset;
  decltype(&::curl_easy_cleanup) cleanup;
  decltype(&::curl_easy_strerror) describe;
  decltype(&::curl_slist_append) append;
  decltype(&::curl_slist_free_all) free_list;
};

// The library, loaded and initialised once for the process; null where it is not there.
const CurlApi* curl();

}  // namespace joulery
