// The server behind the proxy: where it is, and what it takes to trust it where it speaks TLS.
//
// Invariant: a server that is asked for as https is never spoken to in the open, and is not spoken to at all where its certificate is not
// vouched for, unless the user said that any will do.
#pragma once

#include <sys/socket.h>

#include <memory>
#include <string>

#include "core/result.h"

struct ssl_ctx_st;

namespace joulery {

struct TlsTrust {
  std::string ca_file;    // who vouches for its certificate, PEM; "": those that the system trusts
  bool insecure = false;  // any certificate will do
};

struct Upstream {
  struct FreeContext {
    void operator()(ssl_ctx_st* context) const;
  };
  std::string host;             // as it stands in Host: "127.0.0.1:8000"
  std::string name;             // of it, the name or address that its certificate is to be for
  std::string path;             // what goes before each target: "" or "/v1"
  sockaddr_storage address{};
  socklen_t address_size = 0;
  std::unique_ptr<ssl_ctx_st, FreeContext> tls;  // null: plain

  std::string url() const { return (tls ? "https://" : "http://") + host + path; }
  // Errors: usage, where it is no http:// or https:// address, or trust is given for a plain one; not_found, where its name is not known;
  // unsupported, where there is no OpenSSL; format, where `ca_file` cannot be used.
  static Result<Upstream> open(const std::string& url, const TlsTrust& trust);
};

}  // namespace joulery
