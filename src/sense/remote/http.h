// HTTP and HTTPS to meters, by libcurl loaded at run time. Made for devices that may be slow, silent or hostile: each request
// has one limit for all of it, an answer has a greatest size, certificates are checked unless told otherwise, no proxy is
// taken from the environment, and a redirect is followed to the same scheme, host and port only, so that a password or token
// never goes elsewhere.
//
// Invariant: used by one thread at a time. A connection is kept between requests.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/secret.h"
#include "config/settings.h"
#include "core/quantity.h"
#include "sense/trouble.h"

namespace joulery {

struct HttpAccess {
  std::string user;
  std::optional<Secret> password;  // sent by basic authentication where `basic` is set
  std::optional<Secret> token;     // Authorization: Bearer
  bool basic = true;
  std::string ca_file;             // "": the system's authorities
  bool insecure = false;           // take any certificate
};

// user, password, token, ca_file and insecure of a section. `warning` tells what is not well about a secret's file.
// Errors: those of read_secret(); usage, for a password without a user, and for both a password and a token.
Result<HttpAccess> read_http_access(const Settings& settings, const std::string& section, std::string& warning);

// What is asked, and what comes back. (app/agent/http_message.h has the other side: a server's HttpRequest and HttpAnswer.)
struct HttpCall {
  std::string method = "GET";
  std::string url;
  std::string body = {};  // of `content_type`; overwritten after it was sent where it holds a secret (by the caller)
  const Secret* session_token = nullptr;  // X-Auth-Token
  std::string content_type = "application/json";
  std::vector<std::string> headers = {};  // "Content-Encoding: snappy"; no secrets
  std::size_t most_bytes = 4 << 20;  // of the answer
  bool close = false;  // the connection is not kept for a next request
};

struct HttpReply {
  int status = 0;
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;  // names in lower case
  // The first of that name, "" where there is none.
  std::string_view header(std::string_view name) const;
};

class HttpClient {
 public:
  // Errors: not_supported, where libcurl.so.4 is not there; the remedy says how to get it. Nothing is sent yet.
  static Answer<HttpClient> make(HttpAccess access);
  HttpClient(HttpClient&&) noexcept;
  HttpClient& operator=(HttpClient&&) noexcept;
  ~HttpClient();

  // Any status is an answer. Errors: timed_out; gone, where nobody is there; io_error, as for a certificate that is not trusted;
  // rubbish, for an answer above the request's `most_bytes`.
  Answer<HttpReply> send(const HttpCall& request, Duration limit);
  const HttpAccess& access() const { return access_; }
  void send_password_always(bool basic) { access_.basic = basic; }

 private:
  struct Handle;
  HttpClient(HttpAccess access, std::unique_ptr<Handle> handle);
  Answer<HttpReply> send_once(const HttpCall& request, Duration limit);
  HttpAccess access_;
  std::unique_ptr<Handle> handle_;
};

// What a status other than 200 to 299 means; nothing for those.
std::optional<Trouble> trouble_of_status(int status);

// "https://bmc.lan:8443" of "https://BMC.lan:8443/redfish/v1": in lower case, without a
// port that is the scheme's own. "" where it is no address.
std::string origin_of_url(std::string_view url);

}  // namespace joulery
