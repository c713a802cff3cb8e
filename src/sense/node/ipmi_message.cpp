#include "sense/node/ipmi_message.h"

#include <fmt/format.h>

#include <string_view>

namespace joulery {
namespace {

struct Code {
  std::uint8_t code;
  std::string_view text;
  MissingReason reason;
};

constexpr Code codes[] = {
    {0xC0, "the controller is busy", MissingReason::timed_out},
    {0xC1, "invalid command: the controller does not know it", MissingReason::not_supported},
    {0xC2, "command invalid for this unit", MissingReason::not_supported},
    {0xC3, "the controller timed out", MissingReason::timed_out},
    {0xC4, "the controller is out of space", MissingReason::io_error},
    {0xC5, "reservation cancelled", MissingReason::io_error},
    {0xC6, "request data truncated", MissingReason::io_error},
    {0xC7, "request of invalid length", MissingReason::not_supported},
    {0xC8, "request longer than allowed", MissingReason::not_supported},
    {0xC9, "parameter out of range", MissingReason::not_supported},
    {0xCA, "cannot return as many bytes as were asked for", MissingReason::io_error},
    {0xCB, "sensor, data or record not present", MissingReason::gone},
    {0xCC, "invalid data field in the request", MissingReason::not_supported},
    {0xCD, "command not allowed for this sensor or record", MissingReason::not_supported},
    {0xCE, "the controller could not answer", MissingReason::io_error},
    {0xD0, "the sensor records are being updated", MissingReason::io_error},
    {0xD1, "the controller is updating its firmware", MissingReason::io_error},
    {0xD2, "the controller is starting", MissingReason::io_error},
    {0xD3, "destination unavailable", MissingReason::gone},
    {0xD4, "the user's privilege level is not high enough", MissingReason::permission},
    {0xD5, "not supported in the present state", MissingReason::not_supported},
    {0xD6, "the command is switched off", MissingReason::not_supported},
    {0xFF, "unspecified error", MissingReason::io_error},
};

}  // namespace

Trouble completion_trouble(std::uint8_t completion) {
  constexpr std::uint8_t low_privilege = 0xD4;
  for (const Code& known : codes)
    if (known.code == completion)
      return {known.reason, fmt::format("completion code {:02X}: {}", completion, known.text),
              completion == low_privilege ? "set privilege = \"operator\" or \"admin\" in the meter's section, with a user who may have it"
                                          : ""};
  return {MissingReason::io_error, fmt::format("completion code {:02X}", completion)};
}

Answer<std::vector<std::uint8_t>> ask(IpmiTransport& transport, const IpmiRequest& request, Duration limit) {
  auto reply = transport.exchange(request, limit);
  if (!reply) return std::unexpected(std::move(reply.error()));
  if (reply->completion != 0) return std::unexpected(completion_trouble(reply->completion));
  return std::move(reply->data);
}

}  // namespace joulery
