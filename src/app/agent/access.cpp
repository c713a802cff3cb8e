#include "app/agent/access.h"

#include <arpa/inet.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <utility>

namespace joulery {
namespace {

using Digest = std::array<unsigned char, 32>;

// Texts are compared by their digests, which are equally long whatever the text.
bool digest_of(std::string_view text, Digest& digest) {
  unsigned size = 0;
  return ::EVP_Digest(text.data(), text.size(), digest.data(), &size, ::EVP_sha256(), nullptr) == 1 && size == digest.size();
}

// The host without its port, in lower case and without a dot at its end.
std::string host_name(std::string_view host) {
  if (host.starts_with('['))
    host = host.substr(0, host.find(']') + 1);
  else
    host = host.substr(0, host.find(':'));
  if (host.ends_with('.')) host.remove_suffix(1);
  std::string name(host);
  for (char& c : name)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return name;
}

constexpr std::string_view scheme = "bearer ";

// What stands after "Bearer ", whose case does not count.
std::optional<std::string_view> bearer(std::string_view header) {
  if (header.size() < scheme.size()) return std::nullopt;
  for (std::size_t i = 0; i < scheme.size(); ++i)
    if ((header[i] | ((header[i] >= 'A' && header[i] <= 'Z') ? 0x20 : 0)) != scheme[i]) return std::nullopt;
  return header.substr(scheme.size());
}

}  // namespace

bool is_loopback_host(std::string_view host) {
  const std::string name = host_name(host);
  if (name == "localhost" || name == "[::1]") return true;
  in_addr four{};
  return ::inet_pton(AF_INET, name.c_str(), &four) == 1 && (ntohl(four.s_addr) >> 24) == 127;
}

Access::Access(std::optional<Secret> token, std::vector<std::string> hosts) : token_(std::move(token)), hosts_(std::move(hosts)) {}

bool Access::is_token(std::string_view shown) const {
  Digest ours{}, theirs{};
  if (!token_ || !digest_of({token_->reveal(), token_->size()}, ours) || !digest_of(shown, theirs)) return false;
  return ::CRYPTO_memcmp(ours.data(), theirs.data(), ours.size()) == 0;
}

Access::Verdict Access::judge(const HttpRequest& request, bool loopback) const {
  const std::string* host = request.header("host");
  if (loopback && host && !is_loopback_host(*host) && std::ranges::find(hosts_, host_name(*host)) == hosts_.end())
    return {403, false, "the agent is not called by this name", "use localhost, or set agent.hosts"};
  const std::string* header = request.header("authorization");
  if (!header) {
    if (loopback) return {};
    return {401, false, "a token is needed", "send the header Authorization: Bearer TOKEN"};
  }
  const auto shown = bearer(*header);
  if (!shown) return {401, false, "only bearer tokens are understood", "send the header Authorization: Bearer TOKEN"};
  if (!token_) return {401, false, "the agent has no token", "set agent.token_file, or send none"};
  if (!is_token(*shown)) return {401, false, "the token is wrong", "it is the one that agent.token_file or agent.token_env names"};
  return {0, true, "", ""};
}

}  // namespace joulery
