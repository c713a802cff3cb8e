#include "sense/node/ipmi_lan.h"

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "sense/node/ipmi_lan_session.h"
#include "sense/node/ipmi_source.h"
#include "sense/remote/remote_settings.h"

namespace joulery {
namespace {

constexpr RemoteKind kind{"ipmi-lan", "node", {}};  // the controller's records tell how good each sensor is
constexpr Advice not_configured{"no management controller (BMC) is configured",
                                "write [meters.bmc] with kind = \"ipmi-lan\", host, user and password_file to joulery.toml"};
constexpr std::int64_t ipmi_port = 623;
constexpr std::size_t longest_user = 16, longest_password = 20;  // bytes, IPMI 2.0

struct Level {
  std::string_view name;
  std::uint8_t number;
};
constexpr Level levels[] = {{"user", 2}, {"operator", 3}, {"admin", 4}};

Result<std::uint8_t> privilege_of(const Settings& settings, const std::string& key) {
  const auto name = settings.text(key);
  if (!name) return std::unexpected(name.error());
  for (const Level& level : levels)
    if (level.name == name->value_or("user")) return level.number;
  return fail(ErrorCode::usage, fmt::format("'{}' must be user, operator or admin", key), settings.find(key)->origin.describe());
}

std::string with_port(const std::string& host, std::int64_t port) {
  return host.contains(':') && !host.starts_with('[') ? fmt::format("[{}]:{}", host, port) : fmt::format("{}:{}", host, port);
}

Result<void> read_login(const Settings& settings, const std::string& section, IpmiLanPlace& place, std::string& warning) {
  const auto user = settings.text(section + ".user");
  if (!user) return std::unexpected(user.error());
  auto password = read_secret(settings, section, "password");
  if (!password) return std::unexpected(password.error());
  place.user = user->value_or("");
  if (*password) {
    place.password = std::move((*password)->secret);
    warning = std::move((*password)->warning);
  }
  if (place.user.size() > longest_user || place.password.size() > longest_password)
    return fail(ErrorCode::usage, "IPMI takes user names of 16 bytes and passwords of 20 bytes at most", section);
  return {};
}

Result<IpmiLanPlace> read_place(const Settings& settings, const std::string& section, std::string& warning) {
  IpmiLanPlace place;
  const auto host = settings.text(section + ".host");
  if (!host) return std::unexpected(host.error());
  if (!*host) return fail(ErrorCode::usage, fmt::format("'{}.host' is not set", section), {}, "set it to the controller's name or address");
  const auto port = settings.whole(section + ".port", 1, 65535);
  if (!port) return std::unexpected(port.error());
  const auto cipher = settings.whole(section + ".cipher_suite", 0, 17);
  if (!cipher) return std::unexpected(cipher.error());
  const auto privilege = privilege_of(settings, section + ".privilege");
  if (!privilege) return std::unexpected(privilege.error());
  place.host = with_port(**host, port->value_or(ipmi_port));
  place.cipher_suite = static_cast<std::uint8_t>(cipher->value_or(place.cipher_suite));
  place.privilege = *privilege;
  if (const auto login = read_login(settings, section, place, warning); !login) return std::unexpected(login.error());
  return place;
}

Result<std::unique_ptr<RemoteSource>> make_source(const RemoteSettings& remote, const Settings& settings, std::string& warning) {
  auto place = read_place(settings, remote.section, warning);
  if (!place) return std::unexpected(place.error());
  const auto api = load_freeipmi();
  if (!api) return fail(ErrorCode::not_found, api.error(), {}, "sudo apt-get install libfreeipmi17");
  return std::make_unique<IpmiSource>(make_ipmi_lan_session(*api, *std::move(place)),
                                      WholeNode{remote.component, remote.max_power, remote.accuracy.relative});
}

}  // namespace

Discovery probe_ipmi_lan(const Machine&, const Settings& settings) { return probe_remote(kind, settings, not_configured, make_source); }

}  // namespace joulery
