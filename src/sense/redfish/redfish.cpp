#include "sense/redfish/redfish.h"

#include <fmt/format.h>

#include <utility>

#include "sense/redfish/redfish_source.h"

namespace joulery {
namespace {

constexpr Advice none_configured{
    "no Redfish service (BMC) is configured",
    "[meters.NAME] with kind = \"redfish\", url, user and password_file in /etc/joulery/joulery.toml  # joulery "
    "config keys"};
// What supplies and boards measure of themselves (PMBus) is good to a few per cent of the reading, and worse at light load.
constexpr RemoteKind kind{"redfish", "node", {.relative = 0.05, .absolute = watts(5)}};

// "https://bmc.lan" from url, or from host and port. Errors: usage.
Result<std::string> service_of(const Settings& settings, const std::string& section) {
  const auto url = settings.text(section + ".url"), host = settings.text(section + ".host");
  if (!url) return std::unexpected(url.error());
  if (!host) return std::unexpected(host.error());
  const auto port = settings.whole(section + ".port", 1, 65535);
  if (!port) return std::unexpected(port.error());
  if (*url) {
    std::string service = origin_of_url(**url);
    const bool open = service.starts_with("http://"),
               secret = settings.find(section + ".password_file") || settings.find(section + ".password_env");
    if (open && secret)
      return fail(ErrorCode::usage, "a password would be sent in the clear", settings.find(section + ".url")->origin.describe(),
                  "write https://");
    return service;
  }
  if (!*host) return fail(ErrorCode::usage, "a redfish meter needs a url", section, fmt::format("set {}.url = \"https://HOST\"", section));
  const std::string address = (*host)->contains(':') && !(*host)->starts_with('[') ? fmt::format("[{}]", **host) : **host;
  std::string service = origin_of_url(*port ? fmt::format("https://{}:{}", address, **port) : fmt::format("https://{}", address));
  if (service.find_first_of("@ \\") != std::string::npos)
    return fail(ErrorCode::usage, "no host name", settings.find(section + ".host")->origin.describe());
  return service;
}

Result<std::unique_ptr<RemoteSource>> make_source(const RemoteSettings& remote, const Settings& settings, std::string& warning) {
  auto service = service_of(settings, remote.section);
  if (!service) return std::unexpected(service.error());
  const auto chassis = settings.text(remote.section + ".chassis"), login = settings.text(remote.section + ".login");
  if (!chassis) return std::unexpected(chassis.error());
  if (!login) return std::unexpected(login.error());
  auto access = read_http_access(settings, remote.section, warning);
  if (!access) return std::unexpected(access.error());
  auto client = HttpClient::make(*std::move(access));
  if (!client) return fail(ErrorCode::unsupported, client.error().what, "", client.error().remedy);
  RedfishSession session(*std::move(client), *std::move(service), login->value_or("session") == "session");
  return std::make_unique<RedfishSource>(std::move(session), remote, chassis->value_or(""));
}

}  // namespace

Discovery probe_redfish(const Machine&, const Settings& settings) { return probe_remote(kind, settings, none_configured, make_source); }

}  // namespace joulery
