// The kernel's IPMI device (/dev/ipmi0): messages to the controller of this very machine, by ioctl.
#pragma once

#include <memory>
#include <string>

#include "sense/node/ipmi_message.h"

namespace joulery {

// Opens the device; it is opened anew after it has failed.
// Errors: permission, gone (no such device, or its driver knows no controller), io_error.
Answer<std::unique_ptr<IpmiTransport>> open_ipmi_device(std::string path);

}  // namespace joulery
