#include "sense/room/snmp.h"

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "sense/remote/meter_unit.h"
#include "sense/remote/remote_settings.h"
#include "sense/room/snmp_session.h"
#include "sense/room/snmp_source.h"

namespace joulery {
namespace {

constexpr RemoteKind kind{
    "snmp", "wall", {.relative = 0.02, .absolute = {}}};  // makers promise 1 % of what they meter, and some of the range
constexpr Advice not_configured{"no power distribution unit is configured",
                                "write [meters.pdu] with kind = \"snmp\", host, model and community_file to joulery.toml"};

std::unexpected<Error> wrong(const Settings& settings, const std::string& key, std::string what) {
  const Setting* setting = settings.find(key);
  return fail(ErrorCode::usage, std::move(what), setting ? setting->origin.describe() : key);
}

// The secret `name` of the section, `fallback` where it has none.
Result<Secret> secret_of(const Settings& settings, const std::string& section, std::string_view name, std::string_view fallback,
                         std::string& warning) {
  auto found = read_secret(settings, section, name);
  if (!found) return std::unexpected(found.error());
  if (!*found) return Secret(fallback);
  if (!(*found)->warning.empty()) warning = std::move((*found)->warning);
  return std::move((*found)->secret);
}

Result<std::unique_ptr<SnmpPlace::User>> read_user(const Settings& settings, const std::string& section, std::string& warning) {
  auto user = std::make_unique<SnmpPlace::User>();
  const std::pair<const char*, std::string*> texts[] = {
      {".user", &user->name}, {".authentication", &user->authentication}, {".privacy", &user->privacy}};
  for (const auto& [name, to] : texts) {
    const auto text = settings.text(section + name);
    if (!text) return std::unexpected(text.error());
    *to = text->value_or("");
  }
  if (user->name.empty()) return wrong(settings, section + ".user", fmt::format("'{}.user' is not set: version 3 needs one", section));
  const std::pair<const char*, Secret*> secrets[] = {{"password", &user->password}, {"privacy_password", &user->privacy_password}};
  for (const auto& [name, to] : secrets) {
    auto secret = secret_of(settings, section, name, "", warning);
    if (!secret) return std::unexpected(secret.error());
    *to = *std::move(secret);
  }
  if (user->password.size() > 0 && user->authentication.empty()) user->authentication = "SHA";
  if (user->privacy_password.size() > 0 && user->privacy.empty()) user->privacy = "AES";
  if (user->authentication.empty() != (user->password.size() == 0))
    return wrong(settings, section + ".authentication", fmt::format("'{0}.authentication' needs '{0}.password_file'", section));
  if (user->privacy.empty() != (user->privacy_password.size() == 0))
    return wrong(settings, section + ".privacy", fmt::format("'{0}.privacy' needs '{0}.privacy_password_file'", section));
  return user;
}

Result<SnmpPlace> read_place(const Settings& settings, const std::string& section, std::string& warning) {
  SnmpPlace place;
  const auto host = settings.text(section + ".host"), version = settings.text(section + ".version");
  if (!host) return std::unexpected(host.error());
  if (!version) return std::unexpected(version.error());
  if (!*host) return fail(ErrorCode::usage, fmt::format("'{}.host' is not set", section), {}, "set it to the device's name or address");
  const auto port = settings.whole(section + ".port", 1, 65535);
  if (!port) return std::unexpected(port.error());
  place.host = **host;
  place.port = static_cast<std::uint16_t>(port->value_or(place.port));
  const std::string spoken = version->value_or(settings.find(section + ".user") ? "3" : "2c");
  if (spoken != "2c" && spoken != "3") return wrong(settings, section + ".version", fmt::format("'{}.version' must be 2c or 3", section));
  if (spoken == "3") {
    auto user = read_user(settings, section, warning);
    if (!user) return std::unexpected(user.error());
    place.user = *std::move(user);
  } else {
    auto community = secret_of(settings, section, "community", "public", warning);
    if (!community) return std::unexpected(community.error());
    place.community = *std::move(community);
  }
  return place;
}

// A part's number, where the section has one.
Result<std::optional<std::uint32_t>> part_of(const Settings& settings, const std::string& key) {
  const auto number = settings.whole(key, 1, 100'000);
  if (!number) return std::unexpected(number.error());
  return *number ? std::optional(static_cast<std::uint32_t>(**number)) : std::nullopt;
}

Result<PduValue> read_object(const Settings& settings, const std::string& section) {
  const std::string key = section + ".oid";
  const auto text = settings.text(key);
  if (!text) return std::unexpected(text.error());
  if (!*text)
    return fail(ErrorCode::usage, fmt::format("'{0}.model' or '{0}.oid' must be set", section), {},
                "models: apc-rpdu2, raritan-pdu2, raritan-px1");
  const auto oid = parse_snmp_oid(**text);
  if (!oid) return wrong(settings, key, fmt::format("'{}' must be numbers with points: 1.3.6.1.4.1.318.1.1.26.4.3.1.5.1", key));
  const auto scaling = read_scaling(settings, section);
  if (!scaling) return std::unexpected(scaling.error());
  return PduValue{*oid, scaling->unit.measurand, scaling->unit.si * scaling->scale, {}, {}};
}

struct Wanted {
  PduValue value;
  bool whole_unit = false;
};

Result<Wanted> read_wanted(const Settings& settings, const std::string& section) {
  const auto name = settings.text(section + ".model"), quantity = settings.text(section + ".quantity");
  if (!name) return std::unexpected(name.error());
  if (!quantity) return std::unexpected(quantity.error());
  if (!*name) {
    auto object = read_object(settings, section);
    if (!object) return std::unexpected(object.error());
    return Wanted{*std::move(object)};
  }
  const PduModel* model = find_pdu_model(**name);
  if (!model)
    return wrong(settings, section + ".model", fmt::format("no such model: '{}'; known are apc-rpdu2, raritan-pdu2, raritan-px1", **name));
  const auto unit = part_of(settings, section + ".chain_position"), outlet = part_of(settings, section + ".outlet"),
             inlet = part_of(settings, section + ".inlet");
  for (const auto* part : {&unit, &outlet, &inlet})
    if (!*part) return std::unexpected(part->error());
  auto values = pdu_values(*model, {.unit = unit->value_or(1), .outlet = *outlet, .inlet = *inlet});
  if (!values) return fail(ErrorCode::usage, values.error(), section);
  const bool energy = quantity->value_or("power") == "energy";
  return Wanted{std::move((*values)[energy ? 1 : 0]), !*outlet};
}

Result<std::unique_ptr<RemoteSource>> make_source(const RemoteSettings& remote, const Settings& settings, std::string& warning) {
  auto wanted = read_wanted(settings, remote.section);
  if (!wanted) return std::unexpected(wanted.error());
  auto place = read_place(settings, remote.section, warning);
  if (!place) return std::unexpected(place.error());
  auto session = make_snmp_session(*std::move(place));
  if (!session) return fail(ErrorCode::not_found, session.error().what, {}, session.error().remedy);
  Channel channel;
  channel.component = remote.component;
  channel.max_power = remote.max_power;
  channel.accuracy = remote.accuracy;
  channel.update_period = remote.update_period;
  if (wanted->whole_unit && !settings.find(remote.section + ".component")) {
    channel.component = Component("room/" + remote.name);  // it may feed many machines
    channel.scope = Scope::platform;
  }
  return std::make_unique<SnmpSource>(*std::move(session), std::move(wanted->value), std::move(channel));
}

}  // namespace

Discovery probe_snmp(const Machine&, const Settings& settings) { return probe_remote(kind, settings, not_configured, make_source); }

}  // namespace joulery
