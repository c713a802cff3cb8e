// Questions to an SNMP device over the network: version 2c or 3, by net-snmp's library, loaded at run time.
//
// The library keeps users, clocks and counters of requests for all its sessions without a lock of its own: ours is held while
// it builds and takes apart messages, and never while anything is waited for, so that a silent device delays no other.
#pragma once

#include <memory>
#include <string>

#include "config/secret.h"
#include "sense/room/snmp_value.h"

namespace joulery {

struct SnmpPlace {
  std::string host;             // a name or an address
  std::uint16_t port = 161;
  Secret community{"public"};   // version 2c
  struct User {                 // version 3; a protocol without a secret, or the reverse, is refused
    std::string name;
    std::string authentication;  // "": none; MD5, SHA, SHA-224, SHA-256, SHA-384, SHA-512
    Secret password{""};         // at least 8 bytes
    std::string privacy;         // "": none; DES, AES, AES-192, AES-256
    Secret privacy_password{""};
  };
  std::unique_ptr<User> user;   // set: version 3
};

// Errors: not_supported where libnetsnmp.so.40 is not there (`remedy` says how to get it) or a protocol's name is not known.
// Nothing is sent yet.
Answer<std::unique_ptr<SnmpTransport>> make_snmp_session(SnmpPlace place);

}  // namespace joulery
