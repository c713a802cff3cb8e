// net-snmp's library behind a table of functions, loaded at run time: its headers give the declarations, and nothing is linked.
#pragma once

#include <net-snmp/net-snmp-config.h>  // before the other one, as it wants
#include <net-snmp/net-snmp-includes.h>

#include <expected>
#include <mutex>
#include <string>

namespace joulery {

struct NetsnmpApi {
  decltype(&::init_snmp) init;
  decltype(&::netsnmp_ds_set_boolean) set_boolean;
  decltype(&::netsnmp_ds_set_string) set_string;
  decltype(&::netsnmp_register_loghandler) register_log;
  decltype(&::snmp_sess_init) session_init;
  decltype(&::snmp_sess_open) session_open;
  decltype(&::snmp_sess_close) session_close;
  decltype(&::snmp_sess_async_send) session_send;
  decltype(&::snmp_sess_read) session_read;
  decltype(&::snmp_sess_timeout) session_timeout;
  decltype(&::snmp_sess_transport) session_transport;
  decltype(&::snmp_sess_error) session_error;
  decltype(&::snmp_error) error;
  decltype(&::snmp_pdu_create) pdu_create;
  decltype(&::snmp_add_null_var) add_variable;
  decltype(&::snmp_free_pdu) free_pdu;
  decltype(&::snmpv3_get_report_type) report_type;
  decltype(&::usm_lookup_auth_type) authentication_by_name;
  decltype(&::usm_lookup_priv_type) privacy_by_name;
  decltype(&::sc_get_auth_oid) authentication_oid;
  decltype(&::sc_get_priv_oid) privacy_oid;
  decltype(&::generate_Ku) make_key;
};

// The library, loaded and initialised once for the process; it reads no configuration of its own, writes none and logs
// nothing. Null where it is not there.
const NetsnmpApi* netsnmp();
// Held while any of its functions runs.
std::mutex& netsnmp_lock();

}  // namespace joulery
