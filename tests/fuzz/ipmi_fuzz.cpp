// What a management controller may answer: whatever its bytes are, a power is one of 0 to 65535 W or there is none, a sensor's
// value is finite, and a walk through its records ends.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>

#include "sense/node/dcmi.h"
#include "sense/node/ipmi_source.h"
#include "sense/node/sdr.h"

namespace {

using namespace joulery;

void require(bool condition) {
  if (!condition) std::abort();
}

// Answers with the next bytes of the input: a length, a completion code, data. Silent once they are used up.
class Bytes final : public IpmiTransport {
 public:
  explicit Bytes(std::span<const std::uint8_t> left) : left_(left) {}
  Answer<IpmiReply> exchange(const IpmiRequest&, Duration) override {
    if (left_.size() < 2) return std::unexpected(Trouble{MissingReason::timed_out, "no more bytes"});
    const std::size_t length = std::min<std::size_t>(left_[0], left_.size() - 2);
    const std::uint8_t completion = left_[1] < 0xC0 ? 0 : left_[1];
    IpmiReply reply{completion, {left_.begin() + 2, left_.begin() + 2 + static_cast<std::ptrdiff_t>(length)}};
    left_ = left_.subspan(2 + length);
    return reply;
  }

 private:
  std::span<const std::uint8_t> left_;
};

void try_parsers(std::span<const std::uint8_t> bytes) {
  if (const auto power = parse_dcmi_power(bytes)) require(to_watts(power->current) >= 0 && to_watts(power->current) <= 65535);
  parse_sensor_reading(bytes);
  const auto sensor = parse_watt_sensor(bytes);
  if (!sensor) return;
  require(sensor->name.size() <= 64);
  for (int raw = 0; raw < 256; ++raw) {
    const auto value = sensor_value(sensor->factors, static_cast<std::uint8_t>(raw));
    require(!value || std::isfinite(*value));
    require(sensor_step(sensor->factors, static_cast<std::uint8_t>(raw)) >= 0);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span<const std::uint8_t> bytes(data, size);
  try_parsers(bytes);
  IpmiSource source(std::make_unique<Bytes>(bytes), WholeNode{});
  for (int round = 0; round < 2; ++round) {
    const auto answer = source.ask(seconds(1));
    if (!answer) continue;
    require(answer->values.size() == source.channels().size());
    for (const RemoteValue& value : answer->values) require(!value || *value >= 0);
  }
  return 0;
}
