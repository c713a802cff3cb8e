// A management controller in a few lines, for tests: it answers DCMI's power, its sensor records and its sensors, and can be
// made to fail in each way that a real one does.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "sense/node/ipmi_message.h"

namespace joulery {

using Bytes = std::vector<std::uint8_t>;

struct ScriptedBmc {
  IpmiReply dcmi{0xC1, {}};                        // what Get Power Reading answers
  std::vector<Bytes> records;                      // whole records, header and all
  std::map<std::uint8_t, IpmiReply> sensors;       // by number
  std::optional<Trouble> silent;               // set: no message is answered
  int cancel_reservations = 0;                     // so many Get SDR are answered C5
  std::size_t most_bytes = 22;                     // the longest part of a record; more is answered CA
  int exchanges = 0;

  IpmiReply answer(const IpmiRequest& request) {
    if (request.net_fn == 0x2C && request.command == 0x02) return dcmi;
    if (request.net_fn == 0x0A && request.command == 0x22) return {0, {0x34, 0x12}};
    if (request.net_fn == 0x0A && request.command == 0x23) return record_part(request.data);
    if (request.net_fn == 0x04 && request.command == 0x2D && sensors.contains(request.data.at(0))) return sensors[request.data[0]];
    return {0xC1, {}};
  }

  IpmiReply record_part(const Bytes& data) {
    if (data.size() != 6 || data[0] != 0x34 || data[1] != 0x12) return {0xCC, {}};
    if (cancel_reservations > 0 && cancel_reservations--) return {0xC5, {}};
    const std::size_t index = data[2], offset = data[4], count = data[5];
    if (index >= records.size()) return {0xCB, {}};
    if (count > most_bytes) return {0xCA, {}};
    const Bytes& record = records[index];
    const std::size_t end = std::min(record.size(), offset + count);
    if (offset > end) return {0xC9, {}};
    Bytes reply = index + 1 == records.size() ? Bytes{0xFF, 0xFF} : Bytes{static_cast<std::uint8_t>(index + 1), 0};
    reply.insert(reply.end(), record.begin() + static_cast<std::ptrdiff_t>(offset), record.begin() + static_cast<std::ptrdiff_t>(end));
    return {0, std::move(reply)};
  }
};

// The transport to a scripted controller, which outlives it.
class ScriptedTransport final : public IpmiTransport {
 public:
  explicit ScriptedTransport(ScriptedBmc& bmc) : bmc_(bmc) {}
  Answer<IpmiReply> exchange(const IpmiRequest& request, Duration) override {
    ++bmc_.exchanges;
    if (bmc_.silent) return std::unexpected(*bmc_.silent);
    return bmc_.answer(request);
  }

 private:
  ScriptedBmc& bmc_;
};

// 344 W now, 271 to 489 W, 319 W on average over 1000 ms, active: captured from the wire.
inline const Bytes dcmi_on_the_wire = {0xdc, 0x58, 0x01, 0x0f, 0x01, 0xe9, 0x01, 0x3f, 0x01,
                                       0x42, 0xcb, 0x0c, 0x6b, 0xe8, 0x03, 0x00, 0x00, 0x40};

// Records as OpenIPMI's compiler of sensor records writes them.
inline const Bytes locator_record = {0x01, 0x00, 0x51, 0x12, 0x12, 0x20, 0x00, 0x00, 0x8f, 0x00, 0x00, 0x00,
                                     0x07, 0x01, 0x00, 0xc7, 'j',  'o',  'u',  'l',  'e',  'r',  'y'};
// "PSU1 Power In": 4 W a count.
inline const Bytes supply_record = {0x02, 0x00, 0x51, 0x01, 0x38, 0x20, 0x00, 0x01, 0x0a, 0x01, 0x45, 0x00, 0x0b, 0x01, 0x00, 0x00,
                                    0x00, 0x00, 0x00, 0x00, 0x00, 0x06, 0x00, 0x00, 0x04, 0x00, 0x00, 0x01, 0x01, 0x00, 0x00, 0x00,
                                    0x00, 0x00, 0xff, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xcd,
                                    'P',  'S',  'U',  '1',  ' ',  'P',  'o',  'w',  'e',  'r',  ' ',  'I',  'n'};
// "Ambient": degrees.
inline const Bytes degrees_record = {0x03, 0x00, 0x51, 0x01, 0x32, 0x20, 0x00, 0x02, 0x07, 0x01, 0x45, 0x00, 0x01, 0x01,
                                     0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00,
                                     0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x7f, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
                                     0x00, 0x00, 0x00, 0x00, 0x00, 0xc7, 'A',  'm',  'b',  'i',  'e',  'n',  't'};
// "CPU Power": M 25, B -5 with exponent 1, result exponent -1, tolerance 2, accuracy 250 (2.5 %).
inline const Bytes processor_record = {0x04, 0x00, 0x51, 0x01, 0x34, 0x20, 0x00, 0x03, 0x03, 0x01, 0x45, 0x00, 0x0b, 0x01, 0x00,
                                       0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x06, 0x00, 0x00, 0x19, 0x02, 0xfb, 0xfa, 0x31, 0xf1,
                                       0x00, 0x00, 0x00, 0x00, 0xff, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
                                       0x00, 0x00, 0xc9, 'C',  'P',  'U',  ' ',  'P',  'o',  'w',  'e',  'r'};

}  // namespace joulery
