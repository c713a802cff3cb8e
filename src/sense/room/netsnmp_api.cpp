#include "sense/room/netsnmp_api.h"

#include <dlfcn.h>

#include <cstdlib>
#include <optional>

namespace joulery {
namespace {

constexpr const char* library = "libnetsnmp.so.40";

template <class Function>
bool find(void* handle, Function& function, const char* name) {
  function = reinterpret_cast<Function>(::dlsym(handle, name));
  return function != nullptr;
}

void begin(const NetsnmpApi& api) {
  api.set_boolean(NETSNMP_DS_LIBRARY_ID, NETSNMP_DS_LIB_DONT_READ_CONFIGS, 1);
  api.set_boolean(NETSNMP_DS_LIBRARY_ID, NETSNMP_DS_LIB_DONT_PERSIST_STATE, 1);
  api.set_string(NETSNMP_DS_LIBRARY_ID, NETSNMP_DS_LIB_MIBDIRS, "");  // numbers need no names: no MIB is looked for
  api.register_log(NETSNMP_LOGHANDLER_NONE, -1);                       // without any handler it would write to stderr
  api.init("joulery");
}

std::optional<NetsnmpApi> load() {
  void* handle = ::dlopen(library, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (!handle) return std::nullopt;
  NetsnmpApi api{};
  const bool whole = find(handle, api.init, "init_snmp") && find(handle, api.set_boolean, "netsnmp_ds_set_boolean") &&
                     find(handle, api.set_string, "netsnmp_ds_set_string") &&
                     find(handle, api.register_log, "netsnmp_register_loghandler") && find(handle, api.session_init, "snmp_sess_init") &&
                     find(handle, api.session_open, "snmp_sess_open") && find(handle, api.session_close, "snmp_sess_close") &&
                     find(handle, api.session_send, "snmp_sess_async_send") && find(handle, api.session_read, "snmp_sess_read") &&
                     find(handle, api.session_timeout, "snmp_sess_timeout") && find(handle, api.session_transport, "snmp_sess_transport") &&
                     find(handle, api.session_error, "snmp_sess_error") && find(handle, api.error, "snmp_error") &&
                     find(handle, api.pdu_create, "snmp_pdu_create") && find(handle, api.add_variable, "snmp_add_null_var") &&
                     find(handle, api.free_pdu, "snmp_free_pdu") && find(handle, api.report_type, "snmpv3_get_report_type") &&
                     find(handle, api.authentication_by_name, "usm_lookup_auth_type") &&
                     find(handle, api.privacy_by_name, "usm_lookup_priv_type") && find(handle, api.authentication_oid, "sc_get_auth_oid") &&
                     find(handle, api.privacy_oid, "sc_get_priv_oid") && find(handle, api.make_key, "generate_Ku");
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
