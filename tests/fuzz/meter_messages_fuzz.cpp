// What an agent and those who read its meters say to each other, in both directions. The first byte says what the rest is: an answer
// for each parser, what a server sends to a client, or what a client sends to a server that gives one meter.
#include <sys/socket.h>
#include <unistd.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <set>
#include <string>
#include <string_view>

#include "act/undo_journal.h"
#include "app/agent/meter_socket.h"
#include "sense/agent/meter_connection.h"
#include "sense/function_meter.h"

namespace {

using namespace joulery;

void require(bool condition) {
  if (!condition) std::abort();
}

void check_device(const SharedDevice& device) {
  std::set<std::string> names;
  require(!device.kind.empty() && !device.channels.empty());
  for (const Channel& channel : device.channels) {
    require(std::isfinite(channel.unit) && channel.unit > 0 && names.insert(channel.name).second);
    require(channel.measurand <= Measurand::duration && channel.behaviour <= Behaviour::label);
  }
  require(parse_shared_device(to_message(MeterHead{MeterWord::describe, 0, 0}, device)) == device);
}

void parse(std::string_view message) {
  if (const auto request = parse_meter_request(message)) require(to_message(*request) == message);
  if (const auto hello = parse_meter_hello(message)) require(hello->devices <= most_shared_devices);
  if (const auto device = parse_shared_device(message)) check_device(*device);
  for (const std::size_t channels : {0u, 1u, 5u})
    if (const auto readings = parse_shared_readings(message, channels)) {
      require(readings->size() == channels);
      for (const Reading& reading : *readings) require(reading.before <= reading.after && reading.reason <= MissingReason::device_lost);
    }
  if (const auto asked = parse_limit_request(message)) {
    require(asked->second.microwatts > 0 && !asked->second.component.path().empty());
    require(parse_limit_request(to_message(asked->first, asked->second)) == asked);
  }
  if (const auto limits = parse_power_limits(message)) require(limits->size() <= most_power_limits);
  if (const auto answer = parse_limit_answer(message)) require(*answer || !answer->error().what.empty());
  if (const auto undone = parse_undone(message)) require(undone->size() <= most_power_limits);
  if (const UndoText undo = parse_undo(message); !undo.known) require(undo.open.empty());
  if (const auto users = parse_shared_processes(message))
    for (const DeviceProcess& user : *users) require(user.pid > 0 && !user.component.path().empty());
}

// Messages are as long as the byte before each says, in steps of 4.
void send_all(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t size = std::min<std::size_t>(bytes.size() - 1, 4 * static_cast<unsigned char>(bytes[0]));
    if (size > 0 && ::send(descriptor, bytes.data() + 1, size, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) return;
    bytes.remove_prefix(1 + size);
  }
}

void be_told(std::string_view bytes) {
  int ends[2];
  require(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
  const std::string hello = to_message(MeterHead{}, MeterHello{"1", mono_now(), "read_all", "", {}, 1});
  if (bytes.empty() || (bytes[0] & 1) == 0) (void)::send(ends[0], hello.data(), hello.size(), MSG_NOSIGNAL);
  send_all(ends[0], bytes);
  ::shutdown(ends[0], SHUT_WR);
  if (auto client = MeterConnection::over(ends[1], "fuzz", milliseconds(1000))) {
    if (const auto device = client->describe(0, milliseconds(1000))) check_device(*device);
    (void)client->readings(0, 1, milliseconds(1000));
    (void)client->processes(0, milliseconds(1000));
    (void)client->limits(milliseconds(1000));
    (void)client->take_limit({Component("node/gpu/0"), "", 1'000'000}, milliseconds(1000));
    (void)client->give_back(milliseconds(1000));
  }
  ::close(ends[0]);
}

// A limit that takes everything.
class AnyKnob final : public PowerKnob {
 public:
  AnyKnob() {
    facts_.id = "any";
    facts_.component = Component("node/gpu/0");
    facts_.usual = true;
    facts_.most_uw = INT64_MAX;
  }
  const KnobFacts& facts() const override { return facts_; }
  Result<KnobState> read() override { return now_; }
  Result<void> write(const KnobState& state) override {
    now_ = state;
    return {};
  }
  std::optional<Error> obstacle() const override { return std::nullopt; }

 private:
  KnobFacts facts_;
  KnobState now_{100'000'000, std::nullopt};
};

class Server {
 public:
  Server() {
    PowerKnobs knobs;
    knobs.push_back(std::make_unique<AnyKnob>());
    path_ = "/tmp/joulery-fuzz-" + std::to_string(::getpid()) + ".sock";
    power_ = std::make_unique<PowerDesk>(PowerControl(std::move(knobs), path_ + ".power", ""), [](const std::string&) {});
    auto meter = std::make_unique<FunctionMeter>();
    Channel channel;
    channel.component = Component("node");
    channel.name = "energy";
    meter->add(std::move(channel), [] { return 7; });
    devices_.push_back({"fuzz", "meter", false, std::move(meter)});
    shared_.share(devices_, milliseconds(1000));
    std::vector<std::string> warnings;
    Settings everything;
    everything.set("agent.meters.read_all", {std::string("*"), {}});
    everything.set("agent.meters.control_power", {std::string("*"), {}});
    socket_ = std::make_unique<MeterSocket>(shared_, *MeterScopes::from(everything, warnings), "1", power_.get());
    require(power_->start([this] { socket_->wake(); }).has_value());
    require(socket_->listen(path_).has_value() && socket_->start().has_value());
  }
  // Whatever was said, the next client is answered.
  void hear(std::string_view bytes) {
    auto client = MeterConnection::open(path_, milliseconds(60'000));
    require(client.has_value());
    send_all(client->descriptor(), bytes);
    client->close();
    auto next = MeterConnection::open(path_, milliseconds(60'000));
    require(next.has_value() && next->readings(0, 1, milliseconds(60'000)).has_value() && next->limits(milliseconds(60'000)).has_value());
  }

 private:
  std::vector<Device> devices_;
  SharedDevices shared_;
  std::unique_ptr<PowerDesk> power_;
  std::unique_ptr<MeterSocket> socket_;
  std::string path_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static Server server;
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] == 's')
    server.hear(bytes);
  else if (data[0] == 'c')
    be_told(bytes);
  else
    parse(bytes);
  return 0;
}
