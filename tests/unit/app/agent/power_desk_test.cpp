#include "app/agent/power_desk.h"

#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "app/agent/meter_socket.h"
#include "sense/agent/meter_connection.h"
#include "tests/unit/act/limit_tree.h"

namespace joulery {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr Duration limit = milliseconds(10'000);
const LimitRequest ninety_watts{Component("node/cpu/package-0"), "", 90'000'000};

// A socket with no meter behind it, and limits that `names` may set.
class PowerDeskTest : public ::testing::Test {
 protected:
  PowerDeskTest() { tree.put_machine(); }
  ~PowerDeskTest() override { stop(); }

  void serve(const std::vector<std::string>& names) {
    Settings settings;
    settings.set("agent.meters.control_power", {names, {}});
    std::vector<std::string> warnings;
    auto scopes = MeterScopes::from(settings, warnings);
    ASSERT_TRUE(scopes);
    desk = std::make_unique<PowerDesk>(tree.control(), [this](const std::string& line) {
      const std::lock_guard lock(mutex);
      log.push_back(line);
    });
    socket = std::make_unique<MeterSocket>(devices, *std::move(scopes), "1.0", desk.get());
    ASSERT_TRUE(socket->listen(path()));
    ASSERT_TRUE(desk->start([this] { socket->wake(); }));
    ASSERT_TRUE(socket->start());
  }
  void stop() {
    if (socket) socket->stop();
    if (desk) desk->stop();
    socket.reset();
    desk.reset();
  }
  MeterConnection client() const {
    auto connection = MeterConnection::open(path(), limit);
    EXPECT_TRUE(connection) << connection.error().line();
    return *std::move(connection);
  }
  std::string path() const { return tree.root() + "/meters.sock"; }
  void until_back() const {
    while (tree.long_term() != "125000000") std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }

  LimitTree tree;
  SharedDevices devices;
  std::unique_ptr<PowerDesk> desk;
  std::unique_ptr<MeterSocket> socket;
  std::mutex mutex;
  std::vector<std::string> log;
};

TEST_F(PowerDeskTest, ALeaseEndsWhenItIsGivenBack) {
  serve({"*"});
  auto one = client();
  EXPECT_TRUE(one.hello().controls);
  const auto taken = one.take_limit(ninety_watts, limit);
  ASSERT_TRUE(taken && *taken);
  EXPECT_EQ((*taken)->before_uw, 125'000'000);
  EXPECT_EQ((*taken)->took_uw, 90'000'000);
  EXPECT_EQ(tree.long_term(), "90000000");
  const auto undone = one.give_back(limit);
  ASSERT_TRUE(undone);
  ASSERT_THAT(*undone, SizeIs(1));
  EXPECT_TRUE((*undone)[0].as_before);
  EXPECT_EQ(tree.long_term(), "125000000");
  EXPECT_THAT(log, Contains(HasSubstr("125 W -> 90 W (asked 90 W, by user ")));
}

TEST_F(PowerDeskTest, ALeaseEndsWithItsConnectionAndWithTheAgent) {
  serve({"*"});
  {
    auto one = client();
    ASSERT_TRUE(one.take_limit(ninety_watts, limit));
    EXPECT_EQ(tree.long_term(), "90000000");
  }
  until_back();
  auto other = client();
  ASSERT_TRUE(other.take_limit(ninety_watts, limit));
  stop();
  EXPECT_EQ(tree.long_term(), "125000000");
  EXPECT_THAT(undo_journals(tree.journals()), IsEmpty());
}

TEST_F(PowerDeskTest, OthersAreHeldOffAndNotByTheOwnConnection) {
  serve({"*"});
  auto one = client(), other = client();
  ASSERT_TRUE(*one.take_limit(ninety_watts, limit));
  const auto refused = other.take_limit(ninety_watts, limit);
  ASSERT_TRUE(refused && !*refused);
  EXPECT_EQ(refused->error().code, ErrorCode::busy);
  EXPECT_THAT(refused->error().hint, HasSubstr("pid " + std::to_string(::getpid())));
  EXPECT_TRUE(*one.take_limit({Component("node/cpu/package-0"), "", 80'000'000}, limit)) << "its own limit may be changed";
  EXPECT_EQ(tree.long_term(), "80000000");
}

TEST_F(PowerDeskTest, WhoIsNotNamedReadsAndSetsNothing) {
  serve({});
  auto one = client();
  EXPECT_FALSE(one.hello().controls);
  const auto limits = one.limits(limit);
  ASSERT_TRUE(limits);
  ASSERT_THAT(*limits, SizeIs(3));
  for (const PowerLimit& told : *limits) {
    EXPECT_TRUE(told.now_uw);
    EXPECT_FALSE(told.settable);
    EXPECT_THAT(told.reason, HasSubstr("agent.meters.control_power"));
  }
  for (int i = 0; i < 100; ++i) {
    const auto refused = one.take_limit(ninety_watts, limit);
    ASSERT_TRUE(refused && !*refused);
    EXPECT_EQ(refused->error().code, ErrorCode::permission);
  }
  EXPECT_EQ(tree.long_term(), "125000000");
  EXPECT_LE(log.size(), 20u) << "nobody fills the log";
}

TEST_F(PowerDeskTest, ManyClientsThatComeAndGoLeaveNothingBehind) {
  serve({"*"});
  std::vector<std::thread> clients;
  for (int n = 0; n < 8; ++n)
    clients.emplace_back([this] {
      for (int i = 0; i < 5; ++i) {
        auto one = client();
        (void)one.take_limit(ninety_watts, limit);
        if (i % 2) (void)one.give_back(limit);
      }
    });
  for (std::thread& one : clients) one.join();
  until_back();
  stop();
  EXPECT_THAT(undo_journals(tree.journals()), IsEmpty());
}

}  // namespace
}  // namespace joulery
