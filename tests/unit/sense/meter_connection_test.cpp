// A client of an agent's meters whose server is no agent.
#include "sense/agent/meter_connection.h"

#include <gmock/gmock.h>
#include <sys/socket.h>
#include <unistd.h>

namespace joulery {
namespace {

using ::testing::HasSubstr;

constexpr Duration limit = milliseconds(10'000);

// The answer to a client whose server says just `bytes`.
Result<MeterConnection> client_told(const std::string& bytes, Duration patience, int* server_end = nullptr) {
  int ends[2];
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
  if (!bytes.empty()) { EXPECT_GT(::send(ends[0], bytes.data(), bytes.size(), MSG_NOSIGNAL), 0); }
  auto client = MeterConnection::over(ends[1], "pair", patience);
  if (server_end)
    *server_end = ends[0];
  else
    ::close(ends[0]);
  return client;
}

std::string hello_at(MonoTime now) { return to_message(MeterHead{}, MeterHello{"1.0", now, "read_all", "", {}, 1}); }

TEST(MeterConnection, WaitsNoLongerThanTold) {
  const auto client = client_told("", milliseconds(30));
  ASSERT_FALSE(client);
  EXPECT_EQ(client.error().code, ErrorCode::io);
  EXPECT_THAT(client.error().what, HasSubstr("no answer in time"));
}

TEST(MeterConnection, BelievesNoRubbish) {
  EXPECT_EQ(client_told("rubbish of any kind", limit).error().code, ErrorCode::format);
  EXPECT_EQ(client_told(std::string(longest_meter_message, 'x'), limit).error().code, ErrorCode::format);
  int server = -1;
  auto client = client_told(hello_at(mono_now()), limit, &server);
  ASSERT_TRUE(client);
  const std::string late = to_message(MeterHead{MeterWord::readings, 0, 99}, std::vector<Reading>(2));
  ASSERT_GT(::send(server, late.data(), late.size(), MSG_NOSIGNAL), 0);
  const auto readings = client->readings(0, 2, limit);
  ASSERT_FALSE(readings);
  EXPECT_EQ(readings.error(), MissingReason::rubbish);
  EXPECT_FALSE(client->alive());
  ::close(server);
}

TEST(MeterConnection, RefusesAnotherClock) {
  EXPECT_EQ(client_told(hello_at(mono_now() + milliseconds(60'000)), limit).error().code, ErrorCode::unsupported);
  EXPECT_EQ(client_told(hello_at(mono_now() - milliseconds(60'000)), limit).error().code, ErrorCode::unsupported);
}

TEST(MeterConnection, NobodyThereIsToldAtOnce) {
  EXPECT_EQ(MeterConnection::open("/nowhere/at/all.sock", limit).error().code, ErrorCode::not_found);
  EXPECT_EQ(MeterConnection::open(std::string(200, 'x'), limit).error().code, ErrorCode::usage);
}

}  // namespace
}  // namespace joulery
