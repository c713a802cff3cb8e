// What each answer of a target means for what waits in the queue: a scripted target, no network, no time.
#include "app/agent/push_sender.h"

#include <gtest/gtest.h>
#include <snappy.h>
#include <stdlib.h>

#include <deque>
#include <filesystem>

#include "app/agent/push.h"
#include "app/agent/snappy_block.h"

namespace joulery {
namespace {

HttpReply http(int status, std::string body = "", std::string retry_after = "") {
  HttpReply answer{status, std::move(body), {}};
  if (!retry_after.empty()) answer.headers.emplace_back("retry-after", std::move(retry_after));
  return answer;
}

std::string uncompressed(const HttpCall& request) {
  std::string bytes;
  EXPECT_TRUE(snappy::Uncompress(request.body.data(), request.body.size(), &bytes));
  return bytes;
}

// Refuses a batch that holds any of its words, as an engine does that takes all of a request or nothing.
class PushSenderTest : public ::testing::Test {
 protected:
  PushSenderTest() {
    char name[] = "/tmp/joulery-push-XXXXXX";
    folder_ = ::mkdtemp(name);
    queue_ = *FrameQueue::open({.folder = folder_});
    target_.longest_pause = seconds(8);
    sender_ = std::make_unique<PushSender>(
        target_, *queue_,
        [this](const HttpCall& request, Duration) -> Answer<HttpReply> {
          requests_.push_back(request);
          if (!script_.empty()) {
            auto answer = script_.front();
            script_.pop_front();
            return answer;
          }
          const std::string body = uncompressed(request);
          if (!poison_.empty() && body.contains(poison_)) return http(400, poison_told_);
          taken_ += body;
          return http(204);
        },
        7);
  }
  ~PushSenderTest() override {
    queue_.reset();
    std::filesystem::remove_all(folder_);
  }
  void add(std::string_view bytes, std::size_t samples = 1, PushKind kind = PushKind::remote_write) {
    queue_->add(pack_samples(kind, samples, bytes));
  }
  // Until nothing is left or it wants to wait; how long.
  std::optional<Duration> run() {
    for (;;)
      if (const auto pause = sender_->step(); pause != Duration{}) return pause;
  }

  std::string folder_;
  PushTarget target_;
  std::unique_ptr<FrameQueue> queue_;
  std::deque<Answer<HttpReply>> script_;
  std::vector<HttpCall> requests_;
  std::string poison_, poison_told_, taken_;
  std::unique_ptr<PushSender> sender_;
};

TEST_F(PushSenderTest, ManyMomentsGoInOneRequestAndAreDone) {
  add("aa", 2);
  add("bb", 3);
  EXPECT_EQ(run(), std::nullopt);
  ASSERT_EQ(requests_.size(), 1u);
  EXPECT_EQ(requests_[0].method, "POST");
  EXPECT_EQ(requests_[0].content_type, "application/x-protobuf");
  EXPECT_EQ(requests_[0].headers, (std::vector<std::string>{"Content-Encoding: snappy", "X-Prometheus-Remote-Write-Version: 0.1.0"}));
  EXPECT_EQ(taken_, "aabb");
  EXPECT_EQ(sender_->counters().sent_samples, 5u);
  EXPECT_TRUE(sender_->counters().last_sent.has_value());
  EXPECT_TRUE(queue_->oldest(100).empty());
}

TEST_F(PushSenderTest, PausesDoubleUpToTheLongestAndNothingIsLost) {
  add("aa");
  for (int i = 0; i < 6; ++i) script_.push_back(http(503, "busy"));
  double longest = 1;
  for (int i = 0; i < 6; ++i, longest = std::min(8.0, 2 * longest)) {
    const auto pause = run();
    ASSERT_TRUE(pause);
    EXPECT_GE(to_seconds(*pause), longest / 2);
    EXPECT_LE(to_seconds(*pause), longest);
  }
  EXPECT_EQ(sender_->counters().failed_requests.at("503"), 6u);
  EXPECT_EQ(sender_->counters().trouble, "it answers HTTP 503: busy");
  EXPECT_EQ(run(), std::nullopt);
  EXPECT_EQ(taken_, "aa");
  EXPECT_EQ(sender_->counters().trouble, "");
}

TEST_F(PushSenderTest, RetryAfterIsHonoured) {
  add("aa");
  script_.push_back(http(429, "", "17"));
  EXPECT_EQ(run(), seconds(17));
  script_.push_back(http(503, "", "99999999"));
  EXPECT_EQ(run(), seconds(600));
}

TEST_F(PushSenderTest, AnAnswerThatNeverCameAndARefusedLoginKeepTheMoments) {
  add("aa");
  script_.push_back(std::unexpected(Trouble{MissingReason::timed_out, "no answer within 10 s"}));
  script_.push_back(std::unexpected(Trouble{MissingReason::gone, "nobody answers at its address"}));
  script_.push_back(http(401));
  script_.push_back(http(404));
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(run());
  EXPECT_EQ(sender_->counters().failed_requests,
            (std::map<std::string, std::uint64_t>{{"timeout", 1}, {"unreachable", 1}, {"401", 1}, {"404", 1}}));
  EXPECT_EQ(run(), std::nullopt);
  EXPECT_EQ(taken_, "aa");
}

TEST_F(PushSenderTest, OneThatIsRefusedDoesNotTakeTheOthersAlong) {
  poison_ = "X", poison_told_ = "label name is bad\n";
  for (const auto* bytes : {"aa", "bb", "X", "cc"}) add(bytes, 4);
  EXPECT_EQ(run(), std::nullopt);
  EXPECT_EQ(taken_, "aabbcc");
  EXPECT_EQ(sender_->counters().sent_samples, 12u);
  EXPECT_EQ(sender_->counters().dropped_samples, (std::map<std::string, std::uint64_t>{{"refused", 4}}));
  add("dd");
  EXPECT_EQ(run(), std::nullopt);
  EXPECT_EQ(taken_, "aabbccdd");
}

TEST_F(PushSenderTest, WhatTheTargetHasAlreadyIsNamedSo) {
  poison_ = "aa", poison_told_ = "out of order sample";
  add("aa");
  add("bb");
  EXPECT_EQ(run(), std::nullopt);
  EXPECT_EQ(taken_, "bb");
  EXPECT_EQ(sender_->counters().dropped_samples, (std::map<std::string, std::uint64_t>{{"out_of_order", 1}}));
}

TEST_F(PushSenderTest, ARequestThatIsTooLargeIsSentInParts) {
  for (int i = 0; i < 10; ++i) add(std::string(40'000, static_cast<char>('a' + i)));
  for (int i = 0; i < 2; ++i) script_.push_back(http(413));
  EXPECT_EQ(run(), std::nullopt);
  EXPECT_EQ(taken_.size(), 400'000u);
  EXPECT_TRUE(std::ranges::is_sorted(taken_));
  EXPECT_TRUE(sender_->counters().dropped_samples.empty());
}

TEST_F(PushSenderTest, WhatWasQueuedForAnotherKindOfTargetIsCounted) {
  add("old", 7, PushKind::otlp);
  add("new", 2);
  EXPECT_EQ(run(), std::nullopt);
  EXPECT_EQ(taken_, "new");
  EXPECT_EQ(sender_->counters().dropped_samples, (std::map<std::string, std::uint64_t>{{"other_kind", 7}}));
}

TEST(RetryAfter, IsSecondsOrADate) {
  const WallTime now{784'111'770'000'000'000};  // 1994-11-06 08:49:30 UTC
  EXPECT_EQ(parse_retry_after("120", now), seconds(120));
  EXPECT_EQ(parse_retry_after("Sun, 06 Nov 1994 08:49:37 GMT", now), seconds(7));
  EXPECT_EQ(parse_retry_after("Sun, 06 Nov 1994 08:49:20 GMT", now), seconds(0));
  for (const auto bad : {"", "-1", "1.5", "soon", "Sun, 06 Nux 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 CET"})
    EXPECT_EQ(parse_retry_after(bad, now), std::nullopt) << bad;
}

TEST(RejectedPoints, AreThoseOfThePartialSuccess) {
  EXPECT_EQ(rejected_points(std::string_view("\x0a\x03\x08\xac\x02", 5)), 300u);                    // {1: {1: 300}}
  EXPECT_EQ(rejected_points(std::string_view("\x0a\x07\x12\x02hi\x08\x96\x01", 9)), 150u);           // {1: {2: "hi", 1: 150}}
  EXPECT_EQ(rejected_points(""), 0u);
  EXPECT_EQ(rejected_points("\x0a\xff\xff"), 0u);
}

Settings settings_of(std::initializer_list<std::pair<std::string, SettingValue>> values) {
  Settings settings;
  for (const auto& [key, value] : values) settings.set("agent.push.fleet." + key, {value, {"joulery.toml", 3}});
  return settings;
}

TEST(PushTargets, AreReadFromTheirSections) {
  std::vector<std::string> warnings;
  const auto targets = read_push_targets(settings_of({{"url", "http://v.lan/api/v1/write"},
                                                      {"kind", "otlp"},
                                                      {"interval", "30s"},
                                                      {"queue_mib", std::int64_t{2}},
                                                      {"labels", std::vector<std::string>{"team=a=b", "rack=7"}}}),
                                         warnings);
  ASSERT_TRUE(targets) << targets.error().line();
  const PushTarget& target = targets->at(0);
  EXPECT_EQ(target.name, "fleet");
  EXPECT_EQ(target.kind, PushKind::otlp);
  EXPECT_EQ(target.interval, seconds(30));
  EXPECT_EQ(target.timeout, seconds(10));
  EXPECT_EQ(target.most_queued_bytes, 2u << 20);
  EXPECT_EQ(target.labels, (ExternalLabels{{"team", "a=b"}, {"rack", "7"}}));
}

TEST(PushTargets, WhatMakesNoSenseIsRefusedWithItsPlace) {
  std::vector<std::string> warnings;
  const std::pair<std::string, SettingValue> url{"url", "http://v.lan"};
  for (const auto& settings : {settings_of({{"kind", "otlp"}}), settings_of({url, {"kind", "graphite"}}),
                               settings_of({url, {"labels", "team"}}), settings_of({url, {"labels", "__name__=x"}}),
                               settings_of({url, {"interval", "1ms"}}), settings_of({url, {"queue_mib", std::int64_t{0}}})}) {
    const auto targets = read_push_targets(settings, warnings);
    ASSERT_FALSE(targets);
    EXPECT_EQ(targets.error().code, ErrorCode::usage);
    EXPECT_TRUE(targets.error().where.contains("joulery.toml:3") || targets.error().where == "agent.push.fleet") << targets.error().line();
  }
}

}  // namespace
}  // namespace joulery
