#include "sense/redfish/redfish_session.h"

#include <string.h>

#include <nlohmann/json.hpp>
#include <utility>

namespace joulery {
namespace {

constexpr Duration goodbye_limit = milliseconds(1000);

// {"UserName": ..., "Password": ...}; the caller overwrites it.
std::string login_body(const std::string& user, const Secret& password) {
  const auto quoted = [](std::string_view text) {
    return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  };
  std::string secret = quoted({password.reveal(), password.size()});
  std::string body;
  body.reserve(64 + user.size() + secret.size());  // no copy of the secret is left behind by growing
  body += R"({"UserName":)" + quoted(user) + R"(,"Password":)";
  body += secret;
  body += '}';
  ::explicit_bzero(secret.data(), secret.size());
  return body;
}

// The path of a Location, which may be a whole address.
std::string path_in(std::string_view location) {
  if (const auto scheme = location.find("://"); scheme != std::string_view::npos) {
    const auto slash = location.find('/', scheme + 3);
    location = slash == std::string_view::npos ? std::string_view() : location.substr(slash);
  }
  return location.starts_with('/') && !location.starts_with("//") ? std::string(location) : std::string();
}

}  // namespace

RedfishSession::RedfishSession(HttpClient client, std::string service, bool sessions_wanted)
    : client_(std::move(client)), service_(std::move(service)), by_session_(sessions_wanted) {
  client_.send_password_always(!sessions_wanted);
}

RedfishSession::~RedfishSession() {
  if (token_ && !own_session_.empty()) (void)send({.method = "DELETE", .url = service_ + own_session_}, mono_now() + goodbye_limit);
}

Answer<HttpReply> RedfishSession::send(HttpCall request, MonoTime end) {
  if (token_) request.session_token = &*token_;
  return client_.send(request, end - mono_now());
}

Answer<HttpReply> RedfishSession::open_page(const std::string& path, MonoTime end) {
  auto answer = send({.url = service_ + path}, end);
  if (!answer) return answer;
  if (const auto trouble = trouble_of_status(answer->status)) return std::unexpected(*trouble);
  return answer;
}

Answer<HttpReply> RedfishSession::page(const std::string& path, MonoTime end) {
  if (wants_session() && !token_)
    if (const auto in = log_in(end); !in) return std::unexpected(in.error());
  auto answer = send({.url = service_ + path}, end);
  if (answer && answer->status == 401 && token_) {  // forgotten: after half an hour, or a restart of the service
    token_.reset();
    if (const auto in = log_in(end); !in) return std::unexpected(in.error());
    answer = send({.url = service_ + path}, end);
  }
  if (!answer) return answer;
  if (const auto trouble = trouble_of_status(answer->status)) return std::unexpected(*trouble);
  return answer;
}

// A service without sessions is given the password with every request.
Answer<void> RedfishSession::log_in(MonoTime end) {
  std::optional<HttpReply> opened;
  if (!sessions_.empty()) {
    HttpCall request{.method = "POST", .url = service_ + sessions_};
    request.body = login_body(client_.access().user, *client_.access().password);
    auto answer = client_.send(request, end - mono_now());
    ::explicit_bzero(request.body.data(), request.body.size());
    if (!answer) return std::unexpected(answer.error());
    opened = *std::move(answer);
  }
  if (!opened || opened->status == 404 || opened->status == 405 || opened->status == 501) {
    by_session_ = false;
    client_.send_password_always(true);
    return {};
  }
  if (opened->status == 400)
    return std::unexpected(Trouble{MissingReason::permission, "it refuses the login (HTTP 400)", "check user and password_file"});
  if (const auto trouble = trouble_of_status(opened->status)) return std::unexpected(*trouble);
  const std::string_view token = opened->header("x-auth-token");
  if (token.empty())
    return std::unexpected(Trouble{MissingReason::rubbish, "it opens a session and gives no token", "set login = \"basic\""});
  token_.emplace(token);
  own_session_ = path_in(opened->header("location"));
  return {};
}

}  // namespace joulery
