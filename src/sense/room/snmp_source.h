// A power distribution unit, or any device that tells power or energy by SNMP, over any transport.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "sense/remote/remote_meter.h"
#include "sense/room/pdu_model.h"

namespace joulery {

// One object of a device as one channel, in thousandths of the object's own count, for some devices write fractions.
class SnmpSource final : public RemoteSource {
 public:
  // `channel` brings component, scope, accuracy and greatest power; name, measurand, behaviour, unit and range are set here.
  SnmpSource(std::unique_ptr<SnmpTransport> transport, PduValue value, Channel channel);
  // Nothing before the first answer where only the device knows the unit or how its counter wraps.
  std::vector<Channel> channels() const override;
  // Errors: not_supported, naming its number, where the device has no such object at the first time (gone later), where it
  // is no number or where its unit is another; rubbish, for a value below zero or beyond 9.2e15.
  Answer<RemoteAnswer> ask(Duration limit) override;

 private:
  Answer<void> learn(const std::vector<SnmpValue>& told);
  void set_unit(double unit, bool fractions);

  std::unique_ptr<SnmpTransport> transport_;
  PduValue value_;
  Channel channel_;
  bool known_ = false;     // the channel is whole
  bool answered_ = false;  // the device has told the object at least once
};

}  // namespace joulery
