// Whether a device speaks SNMP version 3 at all: the discovery of RFC 3414 (section 4), which needs neither name nor key.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/quantity.h"
#include "sense/trouble.h"

namespace joulery {

// The first address of a host, as a numeric text: "10.0.0.7", "fe80::1%eth0". Errors: gone, where the name is not known.
Answer<std::string> resolve_host(const std::string& host);

// A get request without a user and of unknown engine, to which every agent of version 3 answers with a report.
std::vector<std::uint8_t> snmp_discovery_message();

// Sends it by UDP to a numeric address and waits for any answer. Errors: timed_out, io_error.
Answer<void> reach_snmp_engine(const std::string& address, std::uint16_t port, Duration limit);

}  // namespace joulery
