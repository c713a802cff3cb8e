// Messages to a management controller over the network: IPMI 2.0 (RMCP+), by GNU FreeIPMI's library. A session is opened
// with the first message, and anew after it has failed.
#pragma once

#include <memory>
#include <string>

#include "config/secret.h"
#include "sense/node/freeipmi_api.h"
#include "sense/node/ipmi_message.h"

namespace joulery {

struct IpmiLanPlace {
  std::string host;             // "10.0.0.7", "bmc-n17:623", "[fe80::1]:623"
  std::string user;             // at most 16 bytes, "" for the anonymous user
  Secret password{""};          // at most 20 bytes
  std::uint8_t privilege = 2;   // 2 user, 3 operator, 4 administrator
  std::uint8_t cipher_suite = 3;
};

std::unique_ptr<IpmiTransport> make_ipmi_lan_session(const FreeipmiApi& api, IpmiLanPlace place);

}  // namespace joulery
