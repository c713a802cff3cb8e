#include "config/known_keys.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <utility>

#include "core/near_names.h"
#include "core/units.h"

namespace joulery {
namespace {

using enum KeyType;

constexpr std::string_view meter_kinds_with_settings = "redfish|ipmi-lan|snmp|mqtt|http-json|prometheus";
constexpr std::string_view server_kinds_with_metrics = "vllm|sglang|tgi|triton|tensorflow-serving|llama.cpp|docker-model-runner";

constexpr KnownKey keys[] = {
    {"carbon.place", text, "", "country, zone or cloud region whose electricity is used, as for --place"},
    {"carbon.g_per_kwh", number_or_text, "", "carbon intensity: g/kWh, or a text with a unit; wins over the place's figure"},
    {"carbon.pue", number, "", "power usage effectiveness of the data centre, 1 or more"},
    {"cost.per_kwh", number, "", "price of a kilowatt-hour"},
    {"cost.currency", text, "", "its currency, an ISO 4217 code: EUR"},
    {"neuron.command", texts, "neuron-monitor", "the program that reports on AWS Neuron devices, with its arguments"},
    {"neuron.timeout", duration, "2s", "how long its first report may take"},
    {"tpu.ports", texts, "8431", "ports of localhost at which programs on a TPU tell their metrics"},
    {"tpu.timeout", duration, "1s", "how long an answer of theirs may take"},
    {"meters.*.kind", text, "", "what kind of meter this is", meter_kinds_with_settings},
    {"meters.*.host", text, "", "name or address of the device"},
    {"meters.*.port", whole, "", "its port, where it is not the protocol's own"},
    {"meters.*.url", url, "", "address of the page to read: http://plug.lan/rpc/Shelly.GetStatus"},
    {"meters.*.component", text, "", "what the meter measures: node, wall, node/gpu/0"},
    {"meters.*.interval", duration, "1s", "time between two readings, where joulery's own is shorter"},
    {"meters.*.update_period", duration, "", "how often the device refreshes its value, where that is known"},
    {"meters.*.timeout", duration, "5s", "how long an answer may take"},
    {"meters.*.longest_pause", duration, "30s", "after failures the pauses double up to this"},
    {"meters.*.max_age", duration, "60s", "a value that the device itself took longer ago than this is missing"},
    {"meters.*.max_power", number, "", "the most that the meter can see, in watts: what is above is no reading"},
    {"meters.*.error_percent", number, "", "the meter's own error, as half-width of a 90 % interval"},
    {"meters.*.user", text, "", "user name at the device"},
    {"meters.*.password_file", text, "", "file that holds the password; only its owner may read it"},
    {"meters.*.password_env", text, "", "environment variable that holds the password"},
    {"meters.*.token_file", text, "", "file that holds a bearer token (http-json, prometheus)"},
    {"meters.*.token_env", text, "", "environment variable that holds a bearer token"},
    {"meters.*.ca_file", text, "", "certificate authority that signed the device's certificate, PEM"},
    {"meters.*.insecure", flag, "false", "take any certificate: whoever stands between can read the password"},
    {"meters.*.login", text, "session", "how to log in (redfish): a session, or the password with every request", "session|basic"},
    {"meters.*.chassis", text, "", "which chassis to read (redfish), where the first with a power reading is not the one"},
    {"meters.*.pointer", text, "", "where the value stands in the answer, a JSON pointer (http-json, mqtt): /StatusSNS/ENERGY/Power"},
    {"meters.*.privilege", text, "user", "privilege level to ask for (ipmi-lan)", "user|operator|admin"},
    {"meters.*.cipher_suite", whole, "3", "how the session is protected (ipmi-lan): 3, or 17 for newer controllers"},
    {"meters.*.version", text, "", "protocol version (snmp): 3 where a user is set, else 2c", "2c|3"},
    {"meters.*.community_file", text, "", "file that holds the community (snmp 2c); \"public\" where none is set"},
    {"meters.*.community_env", text, "", "environment variable that holds the community (snmp 2c)"},
    {"meters.*.authentication", text, "SHA", "authentication protocol (snmp 3)", "MD5|SHA|SHA-224|SHA-256|SHA-384|SHA-512"},
    {"meters.*.privacy", text, "AES", "privacy protocol (snmp 3), where there is a privacy password", "DES|AES|AES-192|AES-256"},
    {"meters.*.privacy_password_file", text, "", "file that holds the privacy password (snmp 3)"},
    {"meters.*.privacy_password_env", text, "", "environment variable that holds the privacy password (snmp 3)"},
    {"meters.*.model", text, "", "what the distribution unit is (snmp), where no oid is set", "apc-rpdu2|raritan-pdu2|raritan-px1"},
    {"meters.*.chain_position", whole, "1", "which of several units behind one address (snmp)"},
    {"meters.*.outlet", whole, "", "number of the outlet that feeds this machine (snmp)"},
    {"meters.*.inlet", whole, "", "number of the inlet (snmp)"},
    {"meters.*.quantity", text, "power", "what to read of a known model (snmp): its energy counters move in steps of 3.6 kJ to 360 kJ",
     "power|energy"},
    {"meters.*.oid", text, "", "number of the object to read (snmp): 1.3.6.1.4.1.318.1.1.26.4.3.1.5.1"},
    {"meters.*.topic", text, "", "topic on which the meter publishes (mqtt): tele/plug/SENSOR"},
    {"meters.*.metric", text, "", "name of the metric to read (prometheus); the exporters that are known need none"},
    {"meters.*.labels", texts, "", "labels that a series must have (prometheus): [\"host=n1\", \"outlet=3\"]"},
    {"meters.*.unit", text, "W", "unit of the value (http-json, prometheus, snmp, mqtt): W, mW, kW, J, mJ, Wh, kWh ..."},
    {"meters.*.scale", number, "1", "what the value is multiplied by before its unit counts"},
    {"meters.*.resolution", number, "0.001", "the smallest step of a counted energy, in its unit"},
    {"agent.listen", texts, "127.0.0.1:9787, [::1]:9787", "addresses at which an agent answers; one beyond loopback takes TLS and a token"},
    {"agent.hosts", texts, "", "names by which it may be called at a loopback address, beside localhost"},
    {"agent.tls_cert", text, "", "certificate that it shows, PEM, its own first"},
    {"agent.tls_key", text, "", "private key of that certificate, PEM; others must not be able to read it"},
    {"agent.token_file", text, "", "file that holds the token of those who may read every figure; only its owner may read it"},
    {"agent.token_env", text, "", "environment variable that holds that token"},
    {"agent.store.keep_seconds", duration, "2d", "how long a day keeps its seconds after it has ended"},
    {"agent.store.keep_minutes", duration, "60d", "how long it keeps its minutes; not shorter"},
    {"agent.store.keep_hours", text, "for ever", "how long it is kept at all, a time or \"for ever\"; not shorter"},
    {"agent.meters.socket", text, "/run/joulery/meters.sock",
     "where an agent gives its meters, and where they are looked for; \"\": nowhere"},
    {"agent.meters.read_own", texts, "*", "who may read them rounded, and of processes their own: users, @groups, * for everyone"},
    {"agent.meters.read_all", texts, "root", "who may read them exactly and as often as they like, and of all processes"},
    {"agent.meters.control_power", texts, "root", "who may set power limits through an agent while they are connected; []: nobody"},
    {"agent.meters.least_interval", duration, "100ms", "the others get no fresh reading of a meter more often than this"},
    {"agent.push.*.kind", text, "remote-write", "in which format an agent sends a node's figures there", "remote-write|otlp"},
    {"agent.push.*.url", url, "", "where to: http://victoria.lan:8428/api/v1/write, http://collector.lan:4318/v1/metrics"},
    {"agent.push.*.interval", duration, "15s", "time between two moments that are sent"},
    {"agent.push.*.labels", texts, "", "labels of all that is sent, beside instance and job: [\"team=vision\", \"cluster=a\"]"},
    {"agent.push.*.timeout", duration, "10s", "how long an answer may take"},
    {"agent.push.*.longest_pause", duration, "60s", "after failures the pauses double up to this"},
    {"agent.push.*.queue_mib", whole, "256", "what may wait on disk while the target is away, in MiB; beyond it the oldest go"},
    {"agent.push.*.user", text, "", "user name at the target"},
    {"agent.push.*.password_file", text, "", "file that holds the password; only its owner may read it"},
    {"agent.push.*.password_env", text, "", "environment variable that holds the password"},
    {"agent.push.*.token_file", text, "", "file that holds a bearer token"},
    {"agent.push.*.token_env", text, "", "environment variable that holds a bearer token"},
    {"agent.push.*.ca_file", text, "", "certificate authority that signed the target's certificate, PEM"},
    {"agent.push.*.insecure", flag, "false", "take any certificate: whoever stands between can read the password"},
    {"tags.*.tag", text, "", "tag that the rule gives; its own name where none is set"},
    {"tags.*.value", text, "", "what that tag says: vision"},
    {"tags.*.env", text, "", "instead of a value: the environment variable of each process that says it; no tag where a process has none"},
    {"tags.*.user", text, "", "only processes of users whose name fits, shell-like: ada, lab-*"},
    {"tags.*.unit", text, "", "only those in a systemd unit that fits: train-*.service"},
    {"tags.*.process", text, "", "only those whose own name fits: python*"},
    {"tags.*.cgroup", text, "", "only those in a cgroup that fits, * also over slashes: /slurm/*"},
    {"servers.*.url", url, "", "where a model server tells its metrics: http://127.0.0.1:8000/metrics"},
    {"servers.*.kind", text, "", "what server that is, where its page alone does not tell", server_kinds_with_metrics},
    {"servers.*.interval", duration, "1s", "time between two looks at its metrics"},
    {"servers.*.timeout", duration, "2s", "how long an answer may take"},
    {"servers.*.user", text, "", "user name at the server"},
    {"servers.*.password_file", text, "", "file that holds the password; only its owner may read it"},
    {"servers.*.password_env", text, "", "environment variable that holds the password"},
    {"servers.*.token_file", text, "", "file that holds a bearer token"},
    {"servers.*.token_env", text, "", "environment variable that holds a bearer token"},
    {"servers.*.ca_file", text, "", "certificate authority that signed the server's certificate, PEM"},
    {"servers.*.insecure", flag, "false", "take any certificate: whoever stands between can read the password"},
    {"fleet.url", url, "", "the engine that joulery fleet asks: http://prometheus.lan:9090, http://victoria.lan:8428"},
    {"fleet.timeout", duration, "60s", "how long an answer of it may take"},
    {"fleet.user", text, "", "user name at the engine"},
    {"fleet.password_file", text, "", "file that holds the password; only its owner may read it"},
    {"fleet.password_env", text, "", "environment variable that holds the password"},
    {"fleet.token_file", text, "", "file that holds a bearer token"},
    {"fleet.token_env", text, "", "environment variable that holds a bearer token"},
    {"fleet.ca_file", text, "", "certificate authority that signed the engine's certificate, PEM"},
    {"fleet.insecure", flag, "false", "take any certificate: whoever stands between can read the password"},
};

std::string_view first_part(std::string_view key) { return key.substr(0, key.find('.')); }
std::string_view rest_of(std::string_view key) {
  const auto dot = key.find('.');
  return dot == std::string_view::npos ? std::string_view() : key.substr(dot + 1);
}

// Where the parts of `key` fit the first parts of `pattern`: what is left of the pattern; nothing where they do not fit.
std::optional<std::string_view> left_of(std::string_view pattern, std::string_view key) {
  while (!key.empty()) {
    const std::string_view wanted = first_part(pattern), given = first_part(key);
    if (pattern.empty() || (wanted == "*" ? !is_valid_name(given) : wanted != given)) return std::nullopt;
    pattern = rest_of(pattern);
    key = rest_of(key);
  }
  return pattern;
}

std::unexpected<Error> wrong(std::string_view key, std::string_view wanted, const Origin& origin, std::string hint = {}) {
  return fail(ErrorCode::usage, fmt::format("'{}' must be {}", key, wanted), origin.describe(), std::move(hint));
}

std::vector<std::string> split(std::string_view text, char at) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(at, begin), text.size());
    parts.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

std::string_view article_of(KeyType type) {
  constexpr std::string_view wanted[] = {"a text",
                                         "a list of texts",
                                         "true or false",
                                         "a whole number",
                                         "a number",
                                         "a number, or a text with a unit",
                                         "a time with its unit, such as \"5s\"",
                                         "an address, http:// or https://, without a password in it"};
  return wanted[static_cast<unsigned>(type)];
}

// http or https, and nobody's password in it: a url is shown, logged and recorded.
bool is_plain_url(std::string_view address) {
  const bool web = address.starts_with("http://") || address.starts_with("https://");
  const auto authority = address.substr(std::min(address.find("//") + 2, address.size()));
  const bool plain = !authority.substr(0, authority.find_first_of("/?#")).contains('@');
  const auto word = address.find("password=");
  const bool left_open = word == std::string_view::npos || address.substr(word + 9).starts_with("{password}");
  return web && plain && left_open && std::ranges::all_of(address, [](unsigned char c) { return c > 0x20 && c < 0x7f; });
}

bool fits(KeyType type, const SettingValue& value) {
  const bool is_text = std::holds_alternative<std::string>(value), is_whole = std::holds_alternative<std::int64_t>(value);
  const bool is_number = is_whole || std::holds_alternative<double>(value);
  switch (type) {
    case text: return is_text;
    case texts: return is_text || std::holds_alternative<std::vector<std::string>>(value);
    case flag: return std::holds_alternative<bool>(value);
    case whole: return is_whole;
    case number: return is_number;
    case number_or_text: return is_number || is_text;
    case duration: return is_text && parse_duration(std::get<std::string>(value)).has_value();
    case url: return is_text && is_plain_url(std::get<std::string>(value));
  }
  return false;
}

// Numbers as people write them; the whole text must be one.
template <class T>
std::optional<T> number_in(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

// The names that may stand where the last part of `key` stands.
std::vector<std::string> siblings_of(std::string_view key) {
  const auto dot = key.rfind('.');
  const std::string_view above = dot == std::string_view::npos ? std::string_view() : key.substr(0, dot);
  std::vector<std::string> names;
  for (const KnownKey& known : keys) {
    const auto left = left_of(known.pattern, above);
    if (!left || left->empty()) continue;
    const std::string name(first_part(*left));
    if (name != "*" && std::ranges::find(names, name) == names.end()) names.push_back(name);
  }
  return names;
}

}  // namespace

std::span<const KnownKey> known_keys() { return keys; }

std::string_view name_of(KeyType type) {
  constexpr std::string_view names[] = {"text",   "list of texts",  "true or false", "whole number",
                                        "number", "number or text", "time",          "address"};
  return names[static_cast<unsigned>(type)];
}

bool is_valid_name(std::string_view name) {
  const auto good = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  };
  return !name.empty() && name.size() <= 64 && std::ranges::all_of(name, good);
}

const KnownKey* find_known_key(std::string_view key) {
  for (const KnownKey& known : keys)
    if (const auto left = left_of(known.pattern, key); left && left->empty()) return &known;
  return nullptr;
}

bool is_known_section(std::string_view key) {
  return std::ranges::any_of(keys, [&](const KnownKey& known) {
    const auto left = left_of(known.pattern, key);
    return left && !left->empty();
  });
}

Error unknown_key_error(std::string_view key, const Origin& origin) {
  if (find_known_key(std::string(key) + "_file")) {
    const auto dot = key.rfind('.');
    const std::string_view name = key.substr(dot == std::string_view::npos ? 0 : dot + 1);
    return {
        ErrorCode::usage, fmt::format("'{}' is a secret and may not stand in the configuration", key), origin.describe(),
        fmt::format("write it to a file that only you can read (chmod 600 PATH) and set {0}_file = \"PATH\", or {0}_env = \"VARIABLE\"; "
                    "then change it, for this file may have been read",
                    name)};
  }
  const std::vector<std::string> names = siblings_of(key);
  const auto dot = key.rfind('.');
  const std::string last(dot == std::string_view::npos ? key : key.substr(dot + 1));
  const std::string near = nearest_name(last, names);
  std::string hint = !near.empty() ? fmt::format("did you mean '{}{}'?", dot == std::string_view::npos ? "" : key.substr(0, dot + 1), near)
                     : !names.empty() ? fmt::format("known are {}", fmt::join(names, ", "))
                                      : std::string("a name holds letters, digits, '-' and '_'");
  return {ErrorCode::usage, fmt::format("unknown key '{}' in the configuration", key), origin.describe(), std::move(hint)};
}

Error wrong_type_error(const KnownKey& known, std::string_view key, const Origin& origin) {
  return wrong(key, article_of(known.type), origin).error();
}

Result<SettingValue> checked_value(const KnownKey& known, std::string_view key, SettingValue value, const Origin& origin) {
  if (!fits(known.type, value)) return std::unexpected(wrong_type_error(known, key, origin));
  if (const auto* real = std::get_if<double>(&value); real && !std::isfinite(*real)) return wrong(key, "a finite number", origin);
  if (known.choices.empty()) return value;
  const std::vector<std::string> choices = split(known.choices, '|');
  const auto& chosen = std::get<std::string>(value);
  if (std::ranges::find(choices, chosen) != choices.end()) return value;
  const std::string near = nearest_name(chosen, choices);
  return wrong(key, fmt::format("one of {}", fmt::join(choices, ", ")), origin,
               near.empty() ? "" : fmt::format("did you mean '{}'?", near));
}

Result<SettingValue> value_from_text(const KnownKey& known, std::string_view key, std::string_view written, const Origin& origin) {
  SettingValue value = std::string(written);
  if (known.type == flag) {
    if (written == "true" || written == "1") value = true;
    if (written == "false" || written == "0") value = false;
  } else if (known.type == texts) {
    value = written.empty() ? std::vector<std::string>() : split(written, ',');
  } else if (known.type == whole || known.type == number || known.type == number_or_text) {
    if (const auto count = number_in<std::int64_t>(written))
      value = *count;
    else if (const auto real = number_in<double>(written))
      value = *real;
  }
  return checked_value(known, key, std::move(value), origin);
}

}  // namespace joulery
