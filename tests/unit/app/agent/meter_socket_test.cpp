#include "app/agent/meter_socket.h"

#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include "sense/agent/agent_meters.h"
#include "sense/agent/meter_connection.h"

namespace joulery {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr Duration limit = milliseconds(10'000);

// A counter of microjoules and a power in milliwatts, which count how often they were read.
class FakeMeter final : public Meter {
 public:
  FakeMeter(std::atomic<int>& reads, std::string component) : reads_(reads), channels_(2) {
    channels_[0].component = channels_[1].component = Component(std::move(component));
    channels_[0].name = "energy";
    channels_[0].unit = 1e-6;
    channels_[1].name = "power";
    channels_[1].measurand = Measurand::power;
    channels_[1].behaviour = Behaviour::gauge;
    channels_[1].unit = 1e-3;
  }
  std::span<const Channel> channels() const override { return channels_; }
  void read(Sink& sink) override {
    const int n = ++reads_;
    sink.value(12'345'678 + 1'000'000LL * n);
    sink.value(20'449);
  }
  void processes(std::vector<DeviceProcess>& to) override {
    for (const std::int64_t pid : {std::int64_t{::getpid()}, std::int64_t{0x3FFFFFFF}})
      to.push_back({pid, channels_[0].component, 1024, 0.5, {}, {}, {}});
  }

 private:
  std::atomic<int>& reads_;
  std::vector<Channel> channels_;
};

class MeterSocketTest : public ::testing::Test {
 protected:
  MeterSocketTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "joulery-socket-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }
  ~MeterSocketTest() override {
    server_.reset();
    std::filesystem::remove_all(folder_);
  }

  void add(const std::string& kind, const std::string& component, bool slow = false) {
    devices_.push_back({kind, component.substr(component.rfind('/') + 1), slow, std::make_unique<FakeMeter>(reads_, component)});
  }
  // Makes a server whose every peer has this scope.
  void make(MeterScope scope, Duration least = milliseconds(100)) {
    Settings settings;
    settings.set("agent.meters.read_own", {scope == MeterScope::read_own ? std::vector<std::string>{"*"} : std::vector<std::string>{}, {}});
    settings.set("agent.meters.read_all", {scope == MeterScope::read_all ? std::vector<std::string>{"*"} : std::vector<std::string>{}, {}});
    settings.set("agent.meters.control_power", {std::vector<std::string>{}, {}});
    settings.set("agent.meters.least_interval", {std::to_string(least.base_units() / 1'000'000) + "ms", {}});
    std::vector<std::string> warnings;
    auto scopes = MeterScopes::from(settings, warnings);
    ASSERT_TRUE(scopes);
    EXPECT_THAT(warnings, IsEmpty());
    shared_ = SharedDevices();
    shared_.share(devices_, milliseconds(1000));
    server_ = std::make_unique<MeterSocket>(shared_, *std::move(scopes), "1.0");
  }
  // The client's end of a connection to the server, which is then started.
  int connect_and_start() {
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    server_->adopt(ends[0]);
    EXPECT_TRUE(server_->start());
    return ends[1];
  }
  std::string path() const { return folder_ + "/run/meters.sock"; }
  // Makes a server that answers at path().
  void serve(MeterScope scope, Duration least = milliseconds(100)) {
    make(scope, least);
    ASSERT_TRUE(server_->listen(path()));
    ASSERT_TRUE(server_->start());
  }
  // The client of a package's meter that could be read, and whose agent has gone.
  Device client_left_alone() {
    add("rapl.powercap", "node/cpu/package-0");
    serve(MeterScope::read_all);
    Device client = client_of(0);
    EXPECT_TRUE(read_once(*client.meter)[0].ok());
    server_.reset();
    return client;
  }
  Device client_of(std::size_t index) {
    auto connection = MeterConnection::open(path(), limit);
    EXPECT_TRUE(connection);
    auto told = connection->describe(index, limit);
    EXPECT_TRUE(told);
    return agent_device(path(), index, *std::move(told));
  }

  std::atomic<int> reads_ = 0;
  std::string folder_;
  std::vector<Device> devices_;
  SharedDevices shared_;
  std::unique_ptr<MeterSocket> server_;
};

TEST_F(MeterSocketTest, WhoMayReadAllReadsExactlyAndAlwaysAnew) {
  add("rapl.powercap", "node/cpu/package-0");
  make(MeterScope::read_all);
  auto client = MeterConnection::over(connect_and_start(), "pair", limit);
  ASSERT_TRUE(client);
  EXPECT_EQ(client->hello().scope, "read_all");
  ASSERT_EQ(client->hello().devices, 1u);
  const auto told = client->describe(0, limit);
  ASSERT_TRUE(told);
  EXPECT_EQ(told->kind, "rapl.powercap");
  EXPECT_EQ(told->channels, std::vector<Channel>(devices_[0].meter->channels().begin(), devices_[0].meter->channels().end()));
  for (int n = 1; n <= 20; ++n) {
    const MonoTime before = mono_now();
    const auto readings = client->readings(0, 2, limit);
    ASSERT_TRUE(readings);
    EXPECT_EQ((*readings)[0].raw, 12'345'678 + 1'000'000LL * n);
    EXPECT_EQ((*readings)[1].raw, 20'449);
    EXPECT_LE(before, (*readings)[0].before);
    EXPECT_LE((*readings)[1].after, mono_now());
  }
}

TEST_F(MeterSocketTest, EveryoneElseReadsInSteps) {
  add("rapl.powercap", "node/cpu/package-0");
  make(MeterScope::read_own);
  auto client = MeterConnection::over(connect_and_start(), "pair", limit);
  ASSERT_TRUE(client);
  const auto readings = client->readings(0, 2, limit);
  ASSERT_TRUE(readings);
  EXPECT_EQ((*readings)[0].raw, 13'340'000);  // 13.345678 J in whole 10 mJ, downwards
  EXPECT_EQ((*readings)[1].raw, 20'400);      // 20.449 W to the nearest 0.1 W
  const auto told = client->describe(0, limit);
  ASSERT_TRUE(told);
  EXPECT_EQ(told->least_interval, milliseconds(100));
  EXPECT_EQ(told->channels[1].accuracy.absolute, watts(0.05)) << "rounding is part of the error";
}

TEST_F(MeterSocketTest, AFastReaderSeesNoMoreThanTheRate) {
  add("rapl.powercap", "node/cpu/package-0");
  make(MeterScope::read_own);
  auto client = MeterConnection::over(connect_and_start(), "pair", limit);
  ASSERT_TRUE(client);
  std::set<std::int64_t> seen;
  const MonoTime begin = mono_now();
  while (mono_now() < begin + milliseconds(1000)) {
    const auto readings = client->readings(0, 2, limit);
    ASSERT_TRUE(readings);
    seen.insert((*readings)[0].raw);
  }
  const double tenths = (mono_now() - begin) / milliseconds(100);
  EXPECT_LE(static_cast<double>(seen.size()), 4 + tenths + 1);
  EXPECT_EQ(static_cast<int>(seen.size()), reads_);
}

TEST_F(MeterSocketTest, ASecondConnectionGivesNoMore) {
  add("rapl.powercap", "node/cpu/package-0");
  serve(MeterScope::read_own, milliseconds(3'600'000));
  std::set<std::int64_t> seen;
  for (int i = 0; i < 20; ++i) {
    auto client = MeterConnection::open(path(), limit);
    ASSERT_TRUE(client);
    const auto readings = client->readings(0, 2, limit);
    ASSERT_TRUE(readings);
    seen.insert((*readings)[0].raw);
  }
  EXPECT_EQ(seen.size(), 4u);
}

TEST_F(MeterSocketTest, ConnectionsOfOneUserAreToldTheSameFreshReading) {
  add("rapl.powercap", "node/cpu/package-0");
  serve(MeterScope::read_own);
  const auto read_for_a_while = [&](std::set<std::int64_t>& seen) {
    auto client = MeterConnection::open(path(), limit);
    ASSERT_TRUE(client);
    const MonoTime begin = mono_now();
    MonoTime asked;
    do {
      asked = mono_now();
      const auto readings = client->readings(0, 2, limit);
      ASSERT_TRUE(readings);
      EXPECT_LE(asked, (*readings)[0].before) << "fresh";
      seen.insert((*readings)[0].raw);
    } while (asked < begin + milliseconds(700));
  };
  std::set<std::int64_t> all, other;
  std::thread thread([&] { read_for_a_while(other); });
  const MonoTime begin = mono_now();
  read_for_a_while(all);
  thread.join();
  all.merge(other);
  EXPECT_LE(static_cast<double>(all.size()), 4 + (mono_now() - begin) / milliseconds(100) + 1);
  EXPECT_EQ(static_cast<int>(all.size()), reads_);
}

TEST_F(MeterSocketTest, ASlowDeviceIsReadForNobody) {
  add("redfish", "node", true);
  make(MeterScope::read_all);
  const auto first = read_once(*devices_[0].meter);  // as the sampler reads it
  auto client = MeterConnection::over(connect_and_start(), "pair", limit);
  ASSERT_TRUE(client);
  for (int i = 0; i < 3; ++i) {
    const auto readings = client->readings(0, 2, limit);
    ASSERT_TRUE(readings);
    EXPECT_EQ((*readings)[0].raw, first[0].raw);
    EXPECT_EQ((*readings)[0].after, first[0].after) << "with its own stamps";
  }
  EXPECT_EQ(reads_, 1);
}

TEST_F(MeterSocketTest, BeforeTheFirstReadingThereIsNone) {
  add("redfish", "node", true);
  make(MeterScope::read_own);
  auto client = MeterConnection::over(connect_and_start(), "pair", limit);
  ASSERT_TRUE(client);
  const auto readings = client->readings(0, 2, limit);
  ASSERT_TRUE(readings);
  EXPECT_EQ((*readings)[0].reason, MissingReason::timed_out);
}

TEST_F(MeterSocketTest, OfProcessesEverybodySeesTheirOwn) {
  add("nvml", "node/gpu/0");
  for (const MeterScope scope : {MeterScope::read_own, MeterScope::read_all}) {
    make(scope);
    std::vector<DeviceProcess> users;
    devices_[0].meter->processes(users);
    auto client = MeterConnection::over(connect_and_start(), "pair", limit);
    ASSERT_TRUE(client);
    const auto told = client->processes(0, limit);
    ASSERT_TRUE(told);
    ASSERT_EQ(told->size(), scope == MeterScope::read_own ? 1u : 2u);
    EXPECT_EQ((*told)[0].pid, ::getpid());
    EXPECT_EQ((*told)[0].busy, 0.5);
  }
}

TEST_F(MeterSocketTest, OthersAreRefusedAndToldWhy) {
  add("rapl.powercap", "node/cpu/package-0");
  make(MeterScope::refused);
  const auto client = MeterConnection::over(connect_and_start(), "pair", limit);
  ASSERT_FALSE(client);
  EXPECT_EQ(client.error().code, ErrorCode::permission);
  EXPECT_THAT(client.error().what, HasSubstr("agent.meters.read_own"));
}

TEST_F(MeterSocketTest, RubbishCostsItsOwnConnectionAlone) {
  add("rapl.powercap", "node/cpu/package-0");
  serve(MeterScope::read_all);
  auto good = MeterConnection::open(path(), limit);
  ASSERT_TRUE(good);
  const std::string beyond = to_message(MeterHead{MeterWord::readings, 1, 1});
  for (const std::string& bytes : {std::string("x"), std::string(64, '\xff'), std::string(5000, 'a'), beyond}) {
    int raw = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path().copy(address.sun_path, sizeof address.sun_path - 1);
    ASSERT_EQ(::connect(raw, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    ASSERT_EQ(::send(raw, bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
    char hello[1000];
    EXPECT_GT(::recv(raw, hello, sizeof hello, 0), 0);
    EXPECT_EQ(::recv(raw, hello, sizeof hello, 0), 0) << "closed";
    ::close(raw);
    EXPECT_TRUE(good->readings(0, 2, limit));
  }
}

TEST_F(MeterSocketTest, ASocketThatWasLeftIsReplacedAndALiveOneIsNot) {
  add("rapl.powercap", "node/cpu/package-0");
  std::filesystem::create_directories(folder_ + "/run");
  const int left = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path().copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(::bind(left, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  ::close(left);
  make(MeterScope::read_all);
  ASSERT_TRUE(server_->listen(path()));
  struct stat status{};
  ASSERT_EQ(::stat(path().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0666u);

  SharedDevices none;
  std::vector<std::string> warnings;
  MeterSocket second(none, *MeterScopes::from(Settings(), warnings), "1.0");
  const auto busy = second.listen(path());
  ASSERT_FALSE(busy);
  EXPECT_EQ(busy.error().code, ErrorCode::busy);
  server_.reset();
  EXPECT_FALSE(std::filesystem::exists(path())) << "it is taken away in the end";

  std::ofstream(path()) << "a file";
  const auto file = second.listen(path());
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code, ErrorCode::usage);
  EXPECT_TRUE(std::filesystem::exists(path()));
}

TEST_F(MeterSocketTest, ReadingsGoOnWithAnAgentThatCameBack) {
  Device client = client_left_alone();
  EXPECT_EQ(read_once(*client.meter)[0].reason, MissingReason::gone);
  devices_.clear();
  add("hwmon", "node/board/soc");  // the list has another order now
  add("rapl.powercap", "node/cpu/package-0");
  serve(MeterScope::read_own);
  const MonoTime end = mono_now() + limit;
  std::vector<Reading> readings;
  do {
    ::usleep(20'000);
    readings = read_once(*client.meter);
  } while (!readings[0].ok() && mono_now() < end);
  EXPECT_TRUE(readings[0].ok());
}

TEST_F(MeterSocketTest, ADeviceWithOtherChannelsIsLost) {
  Device client = client_left_alone();
  devices_.clear();
  devices_.push_back({"rapl.powercap", "package-0", false, std::make_unique<FakeMeter>(reads_, "node/cpu/package-1")});
  serve(MeterScope::read_all);
  const MonoTime end = mono_now() + limit;
  std::vector<Reading> readings;
  do {
    ::usleep(20'000);
    readings = read_once(*client.meter);
  } while (readings[0].reason != MissingReason::device_lost && mono_now() < end);
  EXPECT_EQ(readings[0].reason, MissingReason::device_lost);
}

TEST_F(MeterSocketTest, TheSamplerAndTheSocketShareAMeter) {
  add("rapl.powercap", "node/cpu/package-0");
  make(MeterScope::read_all);
  auto client = MeterConnection::over(connect_and_start(), "pair", limit);
  ASSERT_TRUE(client);
  std::thread sampler([&] {
    std::vector<DeviceProcess> users;
    for (int i = 0; i < 500; ++i) {
      EXPECT_TRUE(read_once(*devices_[0].meter)[1].ok());
      devices_[0].meter->processes(users);
    }
  });
  for (int i = 0; i < 500; ++i) {
    EXPECT_TRUE(client->readings(0, 2, limit));
    EXPECT_TRUE(client->processes(0, limit));
  }
  sampler.join();
  EXPECT_EQ(reads_, 1000);
}

}  // namespace
}  // namespace joulery
