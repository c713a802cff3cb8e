// Pages of a Redfish service, with a login where one is configured: by a session, as the specification wants it, or by the
// password with every request where the service has no sessions or the user says so.
//
// A session that the service has forgotten is opened anew, once; at the end it is closed, for services keep few of them.
#pragma once

#include <optional>
#include <string>

#include "core/time.h"
#include "sense/remote/http.h"

namespace joulery {

class RedfishSession {
 public:
  // `service`: "https://bmc.lan". `sessions_wanted`: false for the password with every request.
  RedfishSession(HttpClient client, std::string service, bool sessions_wanted);
  RedfishSession(RedfishSession&&) noexcept = default;
  RedfishSession& operator=(RedfishSession&&) = delete;
  ~RedfishSession();

  // A page that needs no login: the root.
  Answer<HttpReply> open_page(const std::string& path, MonoTime end);
  // Where the root says that sessions are opened; "" where there are none.
  void set_sessions_path(std::string path) { sessions_ = std::move(path); }
  // Errors: those of HttpClient::send; permission, where the login is refused; what other statuses mean.
  Answer<HttpReply> page(const std::string& path, MonoTime end);

 private:
  bool wants_session() const { return by_session_ && client_.access().password.has_value(); }
  Answer<HttpReply> send(HttpCall request, MonoTime end);
  Answer<void> log_in(MonoTime end);

  HttpClient client_;
  std::string service_, sessions_;
  bool by_session_;
  std::optional<Secret> token_;
  std::string own_session_;  // path of the session to close
};

}  // namespace joulery
