#include "app/serve/tls_api.h"

#include <optional>

#include "core/shared_library.h"

namespace joulery {
namespace {

std::optional<TlsApi> load() {
  const auto library = SharedLibrary::open({"libssl.so.3", "libssl.so.1.1"});  // its libcrypto comes with it, and is searched too
  if (!library) return std::nullopt;
  TlsApi api{};
  const bool whole =
      library.find(api.client_method, "TLS_client_method") && library.find(api.new_context, "SSL_CTX_new") &&
      library.find(api.free_context, "SSL_CTX_free") && library.find(api.control_context, "SSL_CTX_ctrl") &&
      library.find(api.set_verify, "SSL_CTX_set_verify") && library.find(api.use_system_trust, "SSL_CTX_set_default_verify_paths") &&
      library.find(api.use_trust_file, "SSL_CTX_load_verify_locations") && library.find(api.new_session, "SSL_new") &&
      library.find(api.free_session, "SSL_free") && library.find(api.control_session, "SSL_ctrl") &&
      library.find(api.set_descriptor, "SSL_set_fd") && library.find(api.expect_name, "SSL_set1_host") &&
      library.find(api.verify_parameters, "SSL_get0_param") && library.find(api.expect_address, "X509_VERIFY_PARAM_set1_ip_asc") &&
      library.find(api.set_client, "SSL_set_connect_state") && library.find(api.shake_hands, "SSL_do_handshake") &&
      library.find(api.read, "SSL_read") && library.find(api.write, "SSL_write") && library.find(api.pending, "SSL_pending") &&
      library.find(api.error_of, "SSL_get_error") && library.find(api.shut_down, "SSL_shutdown") &&
      library.find(api.verify_result, "SSL_get_verify_result") && library.find(api.verify_text, "X509_verify_cert_error_string") &&
      library.find(api.next_error, "ERR_get_error") && library.find(api.reason_of, "ERR_reason_error_string") &&
      library.find(api.clear_errors, "ERR_clear_error");
  return whole ? std::optional(api) : std::nullopt;
}

}  // namespace

const TlsApi* tls_api() {
  static const std::optional<TlsApi> api = load();
  return api ? &*api : nullptr;
}

}  // namespace joulery
