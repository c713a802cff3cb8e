#include "sense/agent/limit_messages.h"

#include <gmock/gmock.h>

namespace joulery {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr MeterHead head(MeterWord word) { return {word, 0, 4'000'000'000u}; }

PowerLimit limit() {
  PowerLimit limit;
  limit.component = Component("node/cpu/package-0");
  limit.name = "long_term";
  limit.kind = "rapl.powercap";
  limit.usual = true;
  limit.now_uw = 4'095'999'878'906;  // a board whose limits are opened: above 1 MW
  limit.least_uw = 1;
  limit.window_us = 27'983'872;
  limit.in_force = false;
  limit.reason = "root alone";
  limit.remedy = "sudo\nthis";
  limit.holder = "user ada, pid 17";
  return limit;
}

TEST(LimitMessages, ComeBackAsTheyWent) {
  PowerLimit other = limit();
  other.settable = true;
  const std::vector<PowerLimit> limits{limit(), other};
  EXPECT_EQ(parse_power_limits(to_message(head(MeterWord::limits), limits)), limits);
  const LimitRequest request{Component("node/gpu/0"), "", 250'000'000};
  const auto asked = parse_limit_request(to_message(head(MeterWord::limit), request));
  ASSERT_TRUE(asked);
  EXPECT_EQ(asked->first, head(MeterWord::limit));
  EXPECT_EQ(asked->second, request);
  const LimitTaken taken{"long_term", 125'000'000, 90'000'000, 90'000'100, 80'000'000};
  const auto answer = parse_limit_answer(to_message(head(MeterWord::limit), Result<LimitTaken>(taken)));
  ASSERT_TRUE(answer && *answer);
  EXPECT_EQ(**answer, taken);
  const auto refused =
      parse_limit_answer(to_message(head(MeterWord::limit), Result<LimitTaken>(fail(ErrorCode::busy, "what", "where", "hint"))));
  ASSERT_TRUE(refused && !*refused);
  EXPECT_EQ(refused->error().code, ErrorCode::busy);
  EXPECT_EQ(refused->error().line(), "what: where (hint)");
  const std::vector<Undone> undone{{true, false, "left so"}, {false, false, "not yet"}};
  EXPECT_EQ(parse_undone(to_message(head(MeterWord::give_back), undone)), undone);
}

TEST(LimitMessages, AreNothingWhereTheyAreNone) {
  std::string bytes = to_message(head(MeterWord::limit));
  EXPECT_FALSE(parse_limit_request(bytes));
  EXPECT_FALSE(parse_meter_request(bytes)) << "a limit without a request";
  EXPECT_TRUE(parse_meter_request(to_message(head(MeterWord::limits))));
  for (const char* json :
       {"", "{}", "[]", "null", R"({"component":"a","name":"","microwatts":0})", R"({"component":"a","name":"","microwatts":-1})",
        R"({"component":"a","name":"","microwatts":1.5})", R"({"component":"a","name":"","microwatts":"1"})",
        R"({"component":"","name":"","microwatts":1})", R"({"component":"a","microwatts":1})",
        R"({"component":"a","name":"","microwatts":1000000000001})", R"({"component":"a","name":"","microwatts":18446744073709551615})"})
    EXPECT_FALSE(parse_limit_request(bytes + json)) << json;
  EXPECT_TRUE(parse_limit_request(bytes + R"({"component":"a","name":"","microwatts":1})"));
  EXPECT_FALSE(parse_limit_request(bytes + R"({"component":"a","name":"","microwatts":1})" + std::string(longest_limit_request, ' ')));
  EXPECT_FALSE(parse_limit_answer(bytes + R"({"error":"","where":"","hint":"","code":1})"));
  EXPECT_FALSE(parse_limit_answer(bytes + R"({"error":"e","where":"","hint":"","code":99})"));
  EXPECT_FALSE(parse_power_limits(to_message(head(MeterWord::limits)) + R"({"limits":[{}]})"));
  EXPECT_FALSE(parse_undone(to_message(head(MeterWord::give_back)) + R"({"undone":[{"settled":1}]})"));
}

TEST(LimitMessages, ManyFitIntoOneMessage) {
  std::vector<PowerLimit> limits(most_power_limits + 1, limit());
  for (PowerLimit& one : limits) one.reason = std::string(5000, '\x01');
  const std::string message = to_message(head(MeterWord::limits), limits);
  EXPECT_LE(message.size(), longest_meter_message);
  const auto told = parse_power_limits(message);
  ASSERT_TRUE(told);
  EXPECT_GT(told->size(), 8u);
  EXPECT_THAT(*parse_power_limits(to_message(head(MeterWord::limits), std::span<const PowerLimit>())), IsEmpty());
}

}  // namespace
}  // namespace joulery
