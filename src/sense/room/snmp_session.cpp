#include "sense/room/snmp_session.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include "core/time.h"
#include "core/units.h"
#include "sense/remote/keep_from_children.h"
#include "sense/room/netsnmp_api.h"
#include "sense/room/snmp_reach.h"

namespace joulery {
namespace {

using Values = std::vector<SnmpValue>;
constexpr std::size_t most_parts = 128;

struct Known {
  int code;
  MissingReason reason;
  std::string_view what, remedy;
};

constexpr Known known_codes[] = {
    {SNMPERR_AUTHENTICATION_FAILURE, MissingReason::permission, "wrong password, or another authentication protocol", ""},
    {SNMPERR_USM_AUTHENTICATIONFAILURE, MissingReason::permission, "wrong password, or another authentication protocol", ""},
    {SNMPERR_UNKNOWN_USER_NAME, MissingReason::permission, "the device does not know the user", ""},
    {SNMPERR_USM_UNKNOWNSECURITYNAME, MissingReason::permission, "the device does not know the user", ""},
    {SNMPERR_UNSUPPORTED_SEC_LEVEL, MissingReason::permission,
     "the device wants another security level of this user: with or without authentication and privacy", ""},
    {SNMPERR_USM_UNSUPPORTEDSECURITYLEVEL, MissingReason::permission, "the device wants another security level of this user", ""},
    {SNMPERR_DECRYPTION_ERR, MissingReason::permission, "wrong privacy password, or another privacy protocol", ""},
    {SNMPERR_USM_DECRYPTIONERROR, MissingReason::permission, "wrong privacy password, or another privacy protocol", ""},
    {SNMPERR_NOT_IN_TIME_WINDOW, MissingReason::io_error, "the device's clock of version 3 disagrees with the one it told", ""},
    {SNMPERR_TIMEOUT, MissingReason::timed_out, "no answer", ""},
    {SNMPERR_BAD_ADDRESS, MissingReason::gone, "no such address", ""},
};

Trouble trouble_of(int code, const std::string& host) {
  for (const Known& known : known_codes)
    if (known.code == code) return {known.reason, fmt::format("{}: {}", host, known.what), std::string(known.remedy)};
  return {MissingReason::io_error, fmt::format("{}: net-snmp error {}", host, code)};
}

// Devices stay silent where the community is wrong: the sentence must say so.
Trouble silence(const SnmpPlace& place, Duration limit) {
  const std::string what = fmt::format("{}:{}: no answer in {}", place.host, place.port, to_text(limit));
  if (place.user) return {MissingReason::timed_out, what + ": no such device, no SNMP version 3, or the wrong privacy password", ""};
  return {MissingReason::timed_out, what + ": no such device, or a community that it does not take (devices stay silent then)",
          fmt::format("ping {}  # then the community, and whether the device lets this machine ask", place.host)};
}

SnmpValue value_of(const netsnmp_variable_list& variable) {
  using Kind = SnmpValue::Kind;
  switch (variable.type) {
    case ASN_INTEGER: return {Kind::whole, *variable.val.integer};
    case ASN_COUNTER: return {Kind::counter32, static_cast<std::int64_t>(static_cast<std::uint32_t>(*variable.val.integer))};
    case ASN_GAUGE:
    case ASN_TIMETICKS: return {Kind::whole, static_cast<std::int64_t>(static_cast<std::uint32_t>(*variable.val.integer))};
    case ASN_COUNTER64:
      return {Kind::whole,
              static_cast<std::int64_t>(std::uint64_t{variable.val.counter64->high} << 32 | (variable.val.counter64->low & 0xFFFFFFFF))};
    case ASN_OPAQUE_FLOAT: return {Kind::real, 0, static_cast<double>(*variable.val.floatVal)};
    case ASN_OPAQUE_DOUBLE: return {Kind::real, 0, *variable.val.doubleVal};
    case ASN_OCTET_STR: return {Kind::text, 0, 0, std::string(reinterpret_cast<const char*>(variable.val.string), variable.val_len)};
    case SNMP_NOSUCHOBJECT:
    case SNMP_NOSUCHINSTANCE:
    case SNMP_ENDOFMIBVIEW: return {Kind::absent};
    default: return {Kind::other};
  }
}

// What the library's callback leaves behind.
struct Waiting {
  const NetsnmpApi& api;
  std::size_t wanted;
  bool done = false;
  int error = 0;         // net-snmp's, 0 where there is none
  bool refused = false;  // what was asked for may not be read
  Values values = {};
};

void take(Waiting& waiting, int operation, netsnmp_pdu* pdu) {
  if (operation == NETSNMP_CALLBACK_OP_TIMED_OUT || !pdu) {
    waiting.error = SNMPERR_TIMEOUT;
    waiting.done = true;
    return;
  }
  if (operation != NETSNMP_CALLBACK_OP_RECEIVED_MESSAGE) return;
  if (pdu->command == SNMP_MSG_REPORT) {
    waiting.error = waiting.api.report_type(pdu);
    waiting.done = waiting.error != SNMPERR_NOT_IN_TIME_WINDOW;  // after that one the library asks again
    return;
  }
  if (pdu->command != SNMP_MSG_RESPONSE) return;
  waiting.error = 0;
  waiting.done = true;
  waiting.refused = pdu->errstat == SNMP_ERR_AUTHORIZATIONERROR || pdu->errstat == SNMP_ERR_NOACCESS;
  for (const netsnmp_variable_list* at = pdu->variables; at && waiting.values.size() < waiting.wanted; at = at->next_variable)
    waiting.values.push_back(pdu->errstat == SNMP_ERR_NOERROR ? value_of(*at) : SnmpValue{});
}

int on_answer(int operation, netsnmp_session*, int, netsnmp_pdu* pdu, void* waiting) {
  take(*static_cast<Waiting*>(waiting), operation, pdu);
  return 1;
}

class SnmpSession final : public SnmpTransport {
 public:
  SnmpSession(const NetsnmpApi& api, SnmpPlace place) : api_(api), place_(std::move(place)) {}
  SnmpSession(const SnmpSession&) = delete;
  SnmpSession& operator=(const SnmpSession&) = delete;
  ~SnmpSession() override { close(); }

  Answer<Values> get(std::span<const SnmpOid> oids, Duration limit) override {
    if (const auto opened = open(limit); !opened) return std::unexpected(opened.error());
    Waiting waiting{api_, oids.size()};
    const int sent = send(oids, waiting);
    if (sent != 0) {
      close();
      return std::unexpected(trouble_of(sent, place_.host));
    }
    const bool rubbish = wait(waiting);
    if (waiting.refused)
      return std::unexpected(
          Trouble{MissingReason::permission, place_.host + ": the device refuses to show this to the user or community", ""});
    if (waiting.done && waiting.error == 0 && waiting.values.size() == oids.size()) return std::move(waiting.values);
    const int error = waiting.done ? waiting.error : SNMPERR_TIMEOUT;
    close();  // a request that is still under way must not answer into a Waiting that is gone
    if (rubbish || error == 0) return std::unexpected(Trouble{MissingReason::rubbish, place_.host + ": answers bytes that are no SNMP"});
    return std::unexpected(error == SNMPERR_TIMEOUT ? silence(place_, limit_) : trouble_of(error, place_.host));
  }

 private:
  Answer<void> open(Duration limit) {
    // The library fixes the limit as it opens: a session that was opened in a hurry is not kept.
    if (handle_ && limit != limit_) close();
    if (handle_) return {};
    limit_ = limit;
    const auto address = resolve_host(place_.host);
    if (!address) return std::unexpected(address.error());
    if (place_.user) {  // else the library would wait for the device's engine with the lock held
      auto reached = reach_snmp_engine(*address, place_.port, limit_);
      if (!reached) return std::unexpected(reached.error().reason == MissingReason::timed_out ? silence(place_, limit_) : reached.error());
    }
    const std::lock_guard lock(netsnmp_lock());
    netsnmp_session session{};
    api_.session_init(&session);
    std::string peer = address->find(':') == std::string::npos ? fmt::format("udp:{}:{}", *address, place_.port)
                                                               : fmt::format("udp6:[{}]:{}", *address, place_.port);
    session.peername = peer.data();
    session.retries = 1;
    session.timeout = limit_.base_units() / 1000 / 2;  // microseconds, for each of two tries
    const auto named = place_.user ? name_user(session) : name_community(session);
    if (!named) return std::unexpected(named.error());
    const KeepFromChildren keep;
    handle_ = api_.session_open(&session);
    int code = 0, system = 0;
    if (!handle_) api_.error(&session, &system, &code, nullptr);
    ::explicit_bzero(session.securityAuthKey, sizeof session.securityAuthKey);
    ::explicit_bzero(session.securityPrivKey, sizeof session.securityPrivKey);
    if (!handle_) return std::unexpected(code == SNMPERR_TIMEOUT ? silence(place_, limit_) : trouble_of(code, place_.host));
    return {};
  }

  Answer<void> name_community(netsnmp_session& session) const {
    session.version = SNMP_VERSION_2c;
    session.community = reinterpret_cast<u_char*>(const_cast<char*>(place_.community.reveal()));
    session.community_len = place_.community.size();
    return {};
  }

  Answer<void> name_user(netsnmp_session& session) {
    SnmpPlace::User& user = *place_.user;
    session.version = SNMP_VERSION_3;
    session.securityName = user.name.data();
    session.securityNameLen = user.name.size();
    session.securityLevel = user.authentication.empty() ? SNMP_SEC_LEVEL_NOAUTH
                            : user.privacy.empty()      ? SNMP_SEC_LEVEL_AUTHNOPRIV
                                                        : SNMP_SEC_LEVEL_AUTHPRIV;
    if (user.authentication.empty()) return {};
    session.securityAuthProto =
        api_.authentication_oid(api_.authentication_by_name(user.authentication.c_str()), &session.securityAuthProtoLen);
    session.securityAuthKeyLen = sizeof session.securityAuthKey;
    if (!key(session, user.password, session.securityAuthKey, session.securityAuthKeyLen)) return std::unexpected(bad_secret("password"));
    if (user.privacy.empty()) return {};
    session.securityPrivProto = api_.privacy_oid(api_.privacy_by_name(user.privacy.c_str()), &session.securityPrivProtoLen);
    session.securityPrivKeyLen = sizeof session.securityPrivKey;
    if (!key(session, user.privacy_password, session.securityPrivKey, session.securityPrivKeyLen))
      return std::unexpected(bad_secret("privacy password"));
    return {};
  }

  bool key(const netsnmp_session& session, const Secret& secret, u_char* bytes, std::size_t& length) const {
    return api_.make_key(session.securityAuthProto, static_cast<u_int>(session.securityAuthProtoLen),
                         reinterpret_cast<const u_char*>(secret.reveal()), secret.size(), bytes, &length) == SNMPERR_SUCCESS;
  }

  Trouble bad_secret(std::string_view which) const {
    return {MissingReason::permission, fmt::format("{}: the {} gives no key: SNMP wants 8 characters or more", place_.host, which)};
  }

  // 0, or net-snmp's error.
  int send(std::span<const SnmpOid> oids, Waiting& waiting) {
    const std::lock_guard lock(netsnmp_lock());
    netsnmp_pdu* pdu = api_.pdu_create(SNMP_MSG_GET);
    if (!pdu) return SNMPERR_MALLOC;
    for (const SnmpOid& wanted : oids) {
      oid parts[most_parts];
      std::ranges::copy(wanted.begin(), wanted.begin() + static_cast<std::ptrdiff_t>(std::min(wanted.size(), most_parts)), parts);
      api_.add_variable(pdu, parts, std::min(wanted.size(), most_parts));
    }
    if (api_.session_send(handle_, pdu, on_answer, &waiting)) return 0;
    int code = 0, system = 0;
    api_.session_error(handle_, &system, &code, nullptr);
    api_.free_pdu(pdu);
    return code == 0 ? SNMPERR_GENERR : code;
  }

  // Until the answer is there or the time is over. True where bytes came that were no answer.
  bool wait(Waiting& waiting) {
    const MonoTime deadline = mono_now() + limit_ + milliseconds(200);
    const int descriptor = api_.session_transport(handle_)->sock;
    bool rubbish = false;
    if (descriptor >= FD_SETSIZE) return false;  // the library takes no greater one
    while (!waiting.done && mono_now() < deadline) {
      const std::int64_t slice_ms = std::min((deadline - mono_now()).base_units(), limit_.base_units() / 2) / 1'000'000 + 1;
      pollfd ready{descriptor, POLLIN, 0};
      const int count = ::poll(&ready, 1, static_cast<int>(slice_ms));
      const std::lock_guard lock(netsnmp_lock());
      if (count > 0) {
        fd_set set;
        FD_ZERO(&set);
        FD_SET(descriptor, &set);
        rubbish = api_.session_read(handle_, &set) != 0 || rubbish;
      } else {
        api_.session_timeout(handle_);  // asks a second time, then calls back
      }
    }
    return rubbish && !(waiting.done && waiting.error != SNMPERR_TIMEOUT);
  }

  void close() {
    if (!handle_) return;
    const std::lock_guard lock(netsnmp_lock());
    api_.session_close(std::exchange(handle_, nullptr));
  }

  const NetsnmpApi& api_;
  SnmpPlace place_;
  void* handle_ = nullptr;
  Duration limit_;
};

std::string check_protocols(const NetsnmpApi& api, const SnmpPlace::User& user) {
  if (!user.authentication.empty() && api.authentication_by_name(user.authentication.c_str()) < 0)
    return fmt::format("unknown authentication protocol '{}': MD5, SHA, SHA-224, SHA-256, SHA-384 or SHA-512", user.authentication);
  if (!user.privacy.empty() && api.privacy_by_name(user.privacy.c_str()) < 0)
    return fmt::format("unknown privacy protocol '{}': DES, AES, AES-192 or AES-256", user.privacy);
  if (!user.privacy.empty() && user.authentication.empty()) return "privacy needs authentication";
  return {};
}

}  // namespace

Answer<std::unique_ptr<SnmpTransport>> make_snmp_session(SnmpPlace place) {
  const NetsnmpApi* api = netsnmp();
  if (!api)
    return std::unexpected(Trouble{MissingReason::not_supported, "libnetsnmp.so.40 is not installed", "sudo apt-get install libsnmp40"});
  if (place.user) {
    const std::lock_guard lock(netsnmp_lock());
    if (const std::string wrong = check_protocols(*api, *place.user); !wrong.empty())
      return std::unexpected(Trouble{MissingReason::not_supported, wrong, ""});
  }
  return std::make_unique<SnmpSession>(*api, std::move(place));
}

}  // namespace joulery
