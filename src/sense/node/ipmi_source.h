// What a management controller tells of power, over any transport: DCMI's whole-node power, and the sensors that read watts.
// The same source serves the kernel's device, the network and a script in a test.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sense/node/ipmi_message.h"
#include "sense/node/sdr.h"
#include "sense/remote/remote_meter.h"

namespace joulery {

// What was found on one controller.
struct IpmiPower {
  bool dcmi = false;
  Trouble no_dcmi = {};             // why, where `dcmi` is false
  std::vector<WattSensor> sensors = {};
  bool any() const { return dcmi || !sensors.empty(); }
};

// What the controller's machine is called in the tree of parts, and what its user knows of it.
struct WholeNode {
  Component component{"node"};
  Power max_power;               // 0: not known
  double relative_error = 0;     // half-width of a 90 % interval; 0: what is usual
};

// Asks the controller what it has, for about as long as `limit`. Errors: the carrier's own, where nothing came back at all.
Answer<IpmiPower> look_for_power(IpmiTransport& transport, Duration limit);

// The channels of what was found: DCMI as "power" of `whole`, then each sensor. A sensor named as the whole system's is a gauge of
// `whole` too; any other is a part that may overlap others, below node/board.
std::vector<Channel> ipmi_channels(const IpmiPower& power, const WholeNode& whole);

// The first ask() looks for what the controller has. One that does not answer then is taken to have DCMI, and no sensors.
class IpmiSource final : public RemoteSource {
 public:
  // `whole` brings the component, the greatest power and, where it is not 0, the error of all that is read of it.
  IpmiSource(std::unique_ptr<IpmiTransport> transport, WholeNode whole) : transport_(std::move(transport)), whole_(std::move(whole)) {}
  std::vector<Channel> channels() const override { return ipmi_channels(power_, whole_); }
  // A carrier that fails ends the round; a completion code or rubbish concerns one channel.
  // Errors: the first channel's, where no channel has a value.
  Answer<RemoteAnswer> ask(Duration limit) override;

 private:
  using Data = Answer<std::vector<std::uint8_t>>;
  Answer<void> look(Duration limit);
  Data data_of(const IpmiRequest& request);
  Answer<std::int64_t> dcmi_milliwatts();
  Answer<std::int64_t> sensor_milliwatts(const WattSensor& sensor);

  std::unique_ptr<IpmiTransport> transport_;
  WholeNode whole_;
  IpmiPower power_{.dcmi = true};
  bool looked_ = false;
  MonoTime deadline_;
  std::optional<Trouble> failed_;   // the carrier's failure in this round
};

}  // namespace joulery
