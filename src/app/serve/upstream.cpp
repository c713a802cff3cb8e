#include "app/serve/upstream.h"

#include <fmt/format.h>
#include <netdb.h>

#include <cstring>

#include "app/serve/tls_api.h"

namespace joulery {
namespace {

Result<void> find_address(Upstream& upstream, const std::string& port) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  if (const int error = ::getaddrinfo(upstream.name.c_str(), port.c_str(), &hints, &found); error != 0 || !found)
    return fail(ErrorCode::not_found, fmt::format("the server behind the proxy is not known: {}", ::gai_strerror(error)), "--upstream");
  std::memcpy(&upstream.address, found->ai_addr, found->ai_addrlen);
  upstream.address_size = found->ai_addrlen;
  ::freeaddrinfo(found);
  return {};
}

Result<void> set_tls_up(Upstream& upstream, const TlsTrust& trust) {
  const TlsApi* tls = tls_api();
  if (!tls) return fail(ErrorCode::unsupported, "https needs OpenSSL", "--upstream", "apt install libssl3");
  upstream.tls.reset(tls->new_context(tls->client_method()));
  ssl_ctx_st* context = upstream.tls.get();
  if (!context || tls->control_context(context, tls_set_least_version, tls_version_1_2, nullptr) != 1)
    return fail(ErrorCode::internal, "cannot set TLS up", "--upstream");
  tls->control_context(context, tls_set_mode, tls_partial_moving_writes, nullptr);
  tls->set_verify(context, trust.insecure ? tls_verify_none : tls_verify_peer, nullptr);
  if (trust.ca_file.empty()) {
    tls->use_system_trust(context);
  } else if (tls->use_trust_file(context, trust.ca_file.c_str(), nullptr) != 1) {
    tls->clear_errors();
    return fail(ErrorCode::format, "cannot use the certificates", trust.ca_file, "it must be a readable file of PEM certificates");
  }
  return {};
}

Error no_address() {
  return {ErrorCode::usage, "the server behind the proxy must be http://HOST:PORT or https://HOST:PORT, without a password in it",
          "--upstream", ""};
}

}  // namespace

void Upstream::FreeContext::operator()(ssl_ctx_st* context) const { tls_api()->free_context(context); }

Result<Upstream> Upstream::open(const std::string& url, const TlsTrust& trust) {
  const bool secure = url.starts_with("https://");
  if (!secure && !url.starts_with("http://")) return std::unexpected(no_address());
  if (!secure && (trust.insecure || !trust.ca_file.empty()))
    return fail(ErrorCode::usage, "a plain server has no certificate", "--upstream",
                "https://, or without --upstream-ca and --upstream-insecure");
  const std::string rest = url.substr(url.find("//") + 2);
  const std::string authority = rest.substr(0, rest.find('/'));
  if (authority.empty() || authority.contains('@') || url.find_first_of("?# ") != std::string::npos) return std::unexpected(no_address());
  Upstream upstream;
  upstream.host = authority;
  if (const auto slash = rest.find('/'); slash != std::string::npos) upstream.path = rest.substr(slash);
  while (upstream.path.ends_with('/')) upstream.path.pop_back();
  upstream.name = authority;
  std::string port = secure ? "443" : "80";
  if (const auto colon = authority.rfind(':'); colon != std::string::npos && authority.find(']', colon) == std::string::npos) {
    upstream.name = authority.substr(0, colon);
    port = authority.substr(colon + 1);
  }
  if (upstream.name.starts_with('[') && upstream.name.ends_with(']')) upstream.name = upstream.name.substr(1, upstream.name.size() - 2);
  if (const auto found = find_address(upstream, port); !found) return std::unexpected(found.error());
  if (secure)
    if (const auto up = set_tls_up(upstream, trust); !up) return std::unexpected(up.error());
  return upstream;
}

}  // namespace joulery
