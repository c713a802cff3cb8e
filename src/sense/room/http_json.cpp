#include "sense/room/http_json.h"

#include <fmt/format.h>
#include <string.h>

#include <utility>

#include "sense/remote/http.h"
#include "sense/remote/json_number.h"
#include "sense/remote/meter_unit.h"

namespace joulery {
namespace {

constexpr Advice none_configured{
    "no wall meter with a web page is configured",
    "[meters.NAME] with kind = \"http-json\", url and pointer in /etc/joulery/joulery.toml  # joulery config keys"};
// Plugs are sold with 1 to 2 % of the reading; those that a user must calibrate, with more.
constexpr RemoteKind kind{"http-json", "wall", {.relative = 0.02, .absolute = watts(0.5)}};
constexpr std::string_view placeholder = "{password}";

class HttpJsonSource final : public RemoteSource {
 public:
  HttpJsonSource(HttpClient client, std::string url, std::string pointer, Scaling scaling, Channel channel)
      : client_(std::move(client)), url_(std::move(url)), pointer_(std::move(pointer)), scaling_(scaling), channel_(std::move(channel)) {}

  std::vector<Channel> channels() const override { return {channel_}; }

  Answer<RemoteAnswer> ask(Duration limit) override {
    HttpCall request{.url = url_};
    const bool secret = fill_in_password(request.url);
    const auto page = client_.send(request, limit);
    if (secret) ::explicit_bzero(request.url.data(), request.url.size());
    if (!page) return std::unexpected(page.error());
    if (const auto trouble = trouble_of_status(page->status)) return std::unexpected(*trouble);
    const auto number = number_at(page->body, pointer_);
    if (!number) return std::unexpected(number.error());
    return RemoteAnswer{{scaling_.counts(*number)}, {}};
  }

 private:
  // Puts the password, percent-encoded, where the url wants it.
  bool fill_in_password(std::string& url) const {
    const auto at = url.find(placeholder);
    if (at == std::string::npos || !client_.access().password) return false;
    std::string encoded;
    for (const char* c = client_.access().password->reveal(); *c; ++c) encoded += fmt::format("%{:02X}", static_cast<unsigned char>(*c));
    url.replace(at, placeholder.size(), encoded);
    ::explicit_bzero(encoded.data(), encoded.size());
    return true;
  }

  HttpClient client_;
  std::string url_, pointer_;
  Scaling scaling_;
  Channel channel_;
};

Result<std::unique_ptr<RemoteSource>> make_source(const RemoteSettings& remote, const Settings& settings, std::string& warning) {
  const auto url = settings.text(remote.section + ".url"), pointer = settings.text(remote.section + ".pointer");
  if (!url) return std::unexpected(url.error());
  if (!pointer) return std::unexpected(pointer.error());
  if (!*url || !*pointer)
    return fail(ErrorCode::usage, "an http-json meter needs url and pointer", remote.section,
                fmt::format("set {}.{}", remote.section, *url ? "pointer" : "url"));
  if (!is_json_pointer(**pointer))
    return fail(ErrorCode::usage, fmt::format("no JSON pointer: '{}'", **pointer),
                settings.find(remote.section + ".pointer")->origin.describe(), "each part begins with '/': /StatusSNS/ENERGY/Power");
  const auto scaling = read_scaling(settings, remote.section);
  if (!scaling) return std::unexpected(scaling.error());
  auto access = read_http_access(settings, remote.section, warning);
  if (!access) return std::unexpected(access.error());
  access->basic = !(*url)->contains(placeholder);
  auto client = HttpClient::make(*std::move(access));
  if (!client) return fail(ErrorCode::unsupported, client.error().what, "", client.error().remedy);
  return std::make_unique<HttpJsonSource>(*std::move(client), **url, **pointer, *scaling, channel_of(remote, *scaling));
}

}  // namespace

Discovery probe_http_json(const Machine&, const Settings& settings) { return probe_remote(kind, settings, none_configured, make_source); }

}  // namespace joulery
