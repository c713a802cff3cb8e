#include "sense/room/netsnmp_api.h"

#include <cstdlib>
#include <optional>

#include "core/shared_library.h"

namespace joulery {
namespace {

constexpr const char* library = "libnetsnmp.so.40";

void begin(const NetsnmpApi& api) {
  api.set_boolean(NETSNMP_DS_LIBRARY_ID, NETSNMP_DS_LIB_DONT_READ_CONFIGS, 1);
  api.set_boolean(NETSNMP_DS_LIBRARY_ID, NETSNMP_DS_LIB_DONT_PERSIST_STATE, 1);
  api.set_string(NETSNMP_DS_LIBRARY_ID, NETSNMP_DS_LIB_MIBDIRS, "");  // numbers need no names: no MIB is looked for
  api.register_log(NETSNMP_LOGHANDLER_NONE, -1);                       // without any handler it would write to stderr
  api.init("joulery");
}

std::optional<NetsnmpApi> load() {
  const auto loaded = SharedLibrary::open({library});
  if (!loaded) return std::nullopt;
  NetsnmpApi api{};
  const bool whole = loaded.find(api.init, "init_snmp") && loaded.find(api.set_boolean, "netsnmp_ds_set_boolean") &&
                     loaded.find(api.set_string, "netsnmp_ds_set_string") && loaded.find(api.register_log, "netsnmp_register_loghandler") &&
                     loaded.find(api.session_init, "snmp_sess_init") && loaded.find(api.session_open, "snmp_sess_open") &&
                     loaded.find(api.session_close, "snmp_sess_close") && loaded.find(api.session_send, "snmp_sess_async_send") &&
                     loaded.find(api.session_read, "snmp_sess_read") && loaded.find(api.session_timeout, "snmp_sess_timeout") &&
                     loaded.find(api.session_transport, "snmp_sess_transport") && loaded.find(api.session_error, "snmp_sess_error") &&
                     loaded.find(api.error, "snmp_error") && loaded.find(api.pdu_create, "snmp_pdu_create") &&
                     loaded.find(api.add_variable, "snmp_add_null_var") && loaded.find(api.free_pdu, "snmp_free_pdu") &&
                     loaded.find(api.report_type, "snmpv3_get_report_type") &&
                     loaded.find(api.authentication_by_name, "usm_lookup_auth_type") &&
                     loaded.find(api.privacy_by_name, "usm_lookup_priv_type") && loaded.find(api.authentication_oid, "sc_get_auth_oid") &&
                     loaded.find(api.privacy_oid, "sc_get_priv_oid") && loaded.find(api.make_key, "generate_Ku");
  if (!whole) return std::nullopt;
  begin(api);
  return api;
}

}  // namespace

const NetsnmpApi* netsnmp() {
  static const std::optional<NetsnmpApi> api = load();
  return api ? &*api : nullptr;
}

std::mutex& netsnmp_lock() {
  static std::mutex lock;
  return lock;
}

}  // namespace joulery
