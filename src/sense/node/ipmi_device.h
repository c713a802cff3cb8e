// The kernel's IPMI device (/dev/ipmi0): messages to the controller of this very machine, by ioctl.
#pragma once

#include <memory>
#include <string>

#include "core/quantity.h"
#include "sense/node/ipmi_message.h"

namespace joulery {

// Opens the device for messages that each wait up to `limit` for their answer. The device is opened anew after it has failed.
// Errors: permission, gone (no such device, or its driver knows no controller), io_error.
Answer<std::unique_ptr<IpmiTransport>> open_ipmi_device(std::string path, Duration limit);

}  // namespace joulery
