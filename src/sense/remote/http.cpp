#include "sense/remote/http.h"

#include <fmt/format.h>
#include <string.h>

#include <algorithm>
#include <cctype>
#include <memory>

#include "sense/remote/curl_api.h"

namespace joulery {
namespace {

constexpr std::size_t most_header_bytes = 64 << 10;
constexpr int most_redirects = 3;
// By number: the name is deprecated since 7.85, the option works in every version; its successor takes a text.
constexpr CURLoption allowed_protocols = static_cast<CURLoption>(CURLOPTTYPE_LONG + 181);
constexpr CURLoption quick_exit = static_cast<CURLoption>(322);  // CURLOPT_QUICK_EXIT, since 7.87: no wait for a name's resolver

// What one request has received; a callback that returns less than it was given ends the request.
struct Received {
  HttpReply answer;
  std::size_t most_bytes = 0, header_bytes = 0;
  bool too_long = false;
};

std::size_t take_body(char* bytes, std::size_t, std::size_t count, void* to) {
  auto& received = *static_cast<Received*>(to);
  received.too_long = received.answer.body.size() + count > received.most_bytes;
  if (received.too_long) return 0;
  received.answer.body.append(bytes, count);
  return count;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front()))) text.remove_prefix(1);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back()))) text.remove_suffix(1);
  return text;
}

std::string lower(std::string_view text) {
  std::string low(text);
  std::ranges::transform(low, low.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return low;
}

std::size_t take_header(char* bytes, std::size_t, std::size_t count, void* to) {
  auto& received = *static_cast<Received*>(to);
  received.header_bytes += count;
  received.too_long = received.header_bytes > most_header_bytes;
  if (received.too_long) return 0;
  const std::string_view line(bytes, count);
  if (line.starts_with("HTTP/")) received.answer.headers.clear();  // of an interim answer before it
  if (const auto colon = line.find(':'); colon != std::string_view::npos)
    received.answer.headers.emplace_back(lower(trimmed(line.substr(0, colon))), trimmed(line.substr(colon + 1)));
  return count;
}

constexpr const char* certificate_remedy =
    "set ca_file to the certificate authority that signed it\n"
    "openssl s_client -connect HOST:443 -showcerts  # shows the certificate\n"
    "set insecure = true  # only in a network where nobody can stand between";

Trouble trouble_of(const CurlApi& api, CURLcode code, const Received& received, Duration limit) {
  const std::string text = api.describe(code);
  switch (code) {
    case CURLE_OPERATION_TIMEDOUT: return {MissingReason::timed_out, fmt::format("no answer within {:.3g} s", to_seconds(limit)), ""};
    case CURLE_COULDNT_RESOLVE_HOST: return {MissingReason::gone, "its name is not known", "check the host's name in url"};
    case CURLE_COULDNT_CONNECT: return {MissingReason::gone, "nobody answers at its address", "check host and port in url"};
    case CURLE_GOT_NOTHING:
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR: return {MissingReason::gone, "the connection broke", ""};
    case CURLE_PEER_FAILED_VERIFICATION: return {MissingReason::io_error, "its certificate is not trusted", certificate_remedy};
    case CURLE_SSL_CACERT_BADFILE: return {MissingReason::io_error, "ca_file cannot be read as certificates (PEM)", "check ca_file"};
    case CURLE_OUT_OF_MEMORY:       // what libcurl says of a header line above 100 KiB
    case static_cast<CURLcode>(100):  // CURLE_TOO_LARGE, since 8.6
      return {MissingReason::rubbish, "its answer has a header without an end", ""};
    case CURLE_WRITE_ERROR:
      if (received.too_long) {
        const double mebibytes = static_cast<double>(received.most_bytes) / (1 << 20);
        return {MissingReason::rubbish, fmt::format("its answer is longer than {:.3g} MiB", mebibytes), ""};
      }
      return {MissingReason::io_error, text, ""};
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_UNSUPPORTED_PROTOCOL: return {MissingReason::rubbish, "what answers there speaks no HTTP", "check port and scheme in url"};
    default: return {MissingReason::io_error, text, ""};
  }
}

// A list of header lines that libcurl keeps; overwritten when it goes, for it may hold a token.
class HeaderList {
 public:
  explicit HeaderList(const CurlApi& api) : api_(api) {}
  HeaderList(const HeaderList&) = delete;
  HeaderList& operator=(const HeaderList&) = delete;
  ~HeaderList() {
    for (curl_slist* item = list_; item; item = item->next) ::explicit_bzero(item->data, ::strlen(item->data));
    api_.free_list(list_);
  }
  void add(std::string line, const Secret* secret = nullptr) {
    if (secret) line += secret->reveal();
    if (curl_slist* longer = api_.append(list_, line.c_str())) list_ = longer;
    ::explicit_bzero(line.data(), line.size());
  }
  curl_slist* get() const { return list_; }

 private:
  const CurlApi& api_;
  curl_slist* list_ = nullptr;
};

}  // namespace

struct HttpClient::Handle {
  explicit Handle(const CurlApi& library) : api(library), easy(library.init()) {}
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() { api.cleanup(easy); }
  const CurlApi& api;
  CURL* easy;
};

std::string_view HttpReply::header(std::string_view name) const {
  for (const auto& [known, value] : headers)
    if (known == name) return value;
  return {};
}

HttpClient::HttpClient(HttpAccess access, std::unique_ptr<Handle> handle) : access_(std::move(access)), handle_(std::move(handle)) {}
HttpClient::HttpClient(HttpClient&&) noexcept = default;
HttpClient& HttpClient::operator=(HttpClient&&) noexcept = default;
HttpClient::~HttpClient() = default;

Answer<HttpClient> HttpClient::make(HttpAccess access) {
  const CurlApi* api = curl();
  if (!api) return std::unexpected(Trouble{MissingReason::not_supported, "libcurl.so.4 is not installed", "sudo apt-get install libcurl4"});
  auto handle = std::make_unique<Handle>(*api);
  if (!handle->easy) return std::unexpected(Trouble{MissingReason::io_error, "libcurl gives no handle", ""});
  return HttpClient(std::move(access), std::move(handle));
}

Answer<HttpReply> HttpClient::send(const HttpCall& request, Duration limit) {
  const MonoTime end = mono_now() + limit;
  HttpCall next = request;
  for (int redirects = 0;; ++redirects) {
    auto answer = send_once(next, end - mono_now());
    if (!answer || answer->status < 301 || answer->status > 308 || answer->status == 304) return answer;
    char* target = nullptr;
    handle_->api.get_info(handle_->easy, CURLINFO_REDIRECT_URL, &target);
    if (!target || request.method != "GET") return answer;
    next.url = target;
    if (origin_of_url(next.url) != origin_of_url(request.url))
      return std::unexpected(
          Trouble{MissingReason::io_error, "it sends us to another host, which is not followed", "set url to where it really is"});
    if (redirects == most_redirects) return std::unexpected(Trouble{MissingReason::rubbish, "it sends us round in circles", ""});
  }
}

Answer<HttpReply> HttpClient::send_once(const HttpCall& request, Duration limit) {
  if (limit <= Duration{}) return std::unexpected(Trouble{MissingReason::timed_out, "no answer in time", ""});
  const CurlApi& api = handle_->api;
  CURL* easy = handle_->easy;
  api.reset(easy);  // options only: the connection stays
  Received received;
  received.most_bytes = request.most_bytes;
  HeaderList headers(api);
  headers.add("Accept: application/json, text/plain;q=0.9, */*;q=0.1");
  headers.add("Expect:");
  if (!request.body.empty()) headers.add("Content-Type: " + request.content_type);
  for (const std::string& line : request.headers) headers.add(line);
  if (request.session_token) headers.add("X-Auth-Token: ", request.session_token);
  if (access_.token) headers.add("Authorization: Bearer ", &*access_.token);
  const long milliseconds_left = std::max<long>(1, static_cast<long>(limit.base_units() / 1'000'000));
  api.set_option(easy, CURLOPT_URL, request.url.c_str());
  api.set_option(easy, allowed_protocols, static_cast<long>(CURLPROTO_HTTP | CURLPROTO_HTTPS));
  api.set_option(easy, CURLOPT_PROXY, "");
  api.set_option(easy, CURLOPT_NOSIGNAL, 1L);
  api.set_option(easy, quick_exit, 1L);
  api.set_option(easy, CURLOPT_FOLLOWLOCATION, 0L);
  api.set_option(easy, CURLOPT_TIMEOUT_MS, milliseconds_left);
  api.set_option(easy, CURLOPT_CONNECTTIMEOUT_MS, milliseconds_left);
  api.set_option(easy, CURLOPT_FORBID_REUSE, request.close ? 1L : 0L);
  api.set_option(easy, CURLOPT_USERAGENT, "joulery");
  api.set_option(easy, CURLOPT_HTTPHEADER, headers.get());
  api.set_option(easy, CURLOPT_SSL_VERIFYPEER, access_.insecure ? 0L : 1L);
  api.set_option(easy, CURLOPT_SSL_VERIFYHOST, access_.insecure ? 0L : 2L);
  if (!access_.ca_file.empty()) api.set_option(easy, CURLOPT_CAINFO, access_.ca_file.c_str());
  if (access_.basic && access_.password) {
    api.set_option(easy, CURLOPT_HTTPAUTH, static_cast<long>(CURLAUTH_BASIC));
    api.set_option(easy, CURLOPT_USERNAME, access_.user.c_str());
    api.set_option(easy, CURLOPT_PASSWORD, access_.password->reveal());
  }
  if (request.method != "GET") api.set_option(easy, CURLOPT_CUSTOMREQUEST, request.method.c_str());
  if (!request.body.empty()) {
    api.set_option(easy, CURLOPT_POSTFIELDSIZE, static_cast<long>(request.body.size()));
    api.set_option(easy, CURLOPT_POSTFIELDS, request.body.c_str());
  }
  api.set_option(easy, CURLOPT_WRITEFUNCTION, take_body);
  api.set_option(easy, CURLOPT_WRITEDATA, &received);
  api.set_option(easy, CURLOPT_HEADERFUNCTION, take_header);
  api.set_option(easy, CURLOPT_HEADERDATA, &received);
  const CURLcode code = api.perform(easy);
  if (code != CURLE_OK) return std::unexpected(trouble_of(api, code, received, limit));
  long status = 0;
  api.get_info(easy, CURLINFO_RESPONSE_CODE, &status);
  received.answer.status = static_cast<int>(status);
  return std::move(received.answer);
}

std::optional<Trouble> trouble_of_status(int status) {
  if (status >= 200 && status < 300) return std::nullopt;
  if (status == 401 || status == 403)
    return Trouble{MissingReason::permission, fmt::format("it refuses the login (HTTP {})", status), "check user and password_file"};
  if (status == 404 || status == 405 || status == 501)
    return Trouble{MissingReason::not_supported, fmt::format("it has no such page (HTTP {})", status), "check url"};
  return Trouble{MissingReason::io_error, fmt::format("it answers HTTP {}", status), ""};
}

std::string origin_of_url(std::string_view url) {
  const auto authority = url.find("://");
  if (authority == std::string_view::npos) return {};
  std::string origin = lower(url.substr(0, url.find_first_of("/?#", authority + 3)));
  for (const auto& [scheme, port] : {std::pair<std::string_view, std::string_view>{"https://", ":443"}, {"http://", ":80"}})
    if (origin.starts_with(scheme) && origin.ends_with(port)) origin.resize(origin.size() - port.size());
  return origin;
}

Result<HttpAccess> read_http_access(const Settings& settings, const std::string& section, std::string& warning) {
  HttpAccess access;
  const auto user = settings.text(section + ".user"), ca_file = settings.text(section + ".ca_file");
  if (!user) return std::unexpected(user.error());
  if (!ca_file) return std::unexpected(ca_file.error());
  const auto insecure = settings.flag(section + ".insecure");
  if (!insecure) return std::unexpected(insecure.error());
  auto password = read_secret(settings, section, "password");
  if (!password) return std::unexpected(password.error());
  auto token = read_secret(settings, section, "token");
  if (!token) return std::unexpected(token.error());
  if (*password && !*user) return fail(ErrorCode::usage, "a password without a user", section, fmt::format("set {}.user", section));
  if (*password && *token) return fail(ErrorCode::usage, "both a password and a token", section, "remove one of the two");
  access.user = user->value_or("");
  access.ca_file = ca_file->value_or("");
  access.insecure = insecure->value_or(false);
  for (auto* found : {&*password, &*token}) {
    if (!*found) continue;
    warning = (*found)->warning;
    (found == &*password ? access.password : access.token) = std::move((*found)->secret);
  }
  return access;
}

}  // namespace joulery
