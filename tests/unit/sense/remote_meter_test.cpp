#include "sense/remote/remote_meter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sense/remote/remote_settings.h"

namespace joulery {
namespace {

using ::testing::HasSubstr;

// Answers what it is told to, and counts how often it was asked.
class ScriptedSource final : public RemoteSource {
 public:
  explicit ScriptedSource(std::vector<Answer<RemoteAnswer>> answers, int* asked = nullptr) : answers_(std::move(answers)), asked_(asked) {}
  std::vector<Channel> channels() const override {
    Channel power, energy;
    power.name = "power";
    power.measurand = Measurand::power;
    energy.name = "energy";
    return {power, energy};
  }
  Answer<RemoteAnswer> ask(Duration) override {
    if (asked_) ++*asked_;
    return answers_[std::min(next_++, answers_.size() - 1)];
  }

 private:
  std::vector<Answer<RemoteAnswer>> answers_;
  int* asked_;
  std::size_t next_ = 0;
};

const Answer<RemoteAnswer> good = RemoteAnswer{{1500, 7}, {}};
const Answer<RemoteAnswer> silent = std::unexpected(Trouble{MissingReason::timed_out, "no answer", ""});
const Answer<RemoteAnswer> refused = std::unexpected(Trouble{MissingReason::permission, "login refused", ""});

TEST(Backoff, PausesDoubleUpToTheLongestAndEndWithAnAnswer) {
  Backoff backoff(seconds(1), seconds(3));
  const MonoTime t{0};
  EXPECT_TRUE(backoff.may_ask(t));
  backoff.failed(t, MissingReason::timed_out);
  EXPECT_FALSE(backoff.may_ask(t + milliseconds(999)));
  EXPECT_TRUE(backoff.may_ask(t + seconds(1)));
  backoff.failed(t, MissingReason::timed_out);
  EXPECT_FALSE(backoff.may_ask(t + milliseconds(1999)));
  EXPECT_TRUE(backoff.may_ask(t + seconds(2)));
  backoff.failed(t, MissingReason::timed_out);
  EXPECT_TRUE(backoff.may_ask(t + seconds(3)));
  backoff.answered();
  EXPECT_TRUE(backoff.may_ask(t));
}

TEST(Backoff, ARefusedLoginIsNotTriedAgainForTenMinutes) {
  Backoff backoff(seconds(1), seconds(3));
  backoff.failed({0}, MissingReason::permission);
  EXPECT_FALSE(backoff.may_ask(MonoTime{} + seconds(599)));
  EXPECT_TRUE(backoff.may_ask(MonoTime{} + seconds(600)));
}

TEST(RemoteMeter, ChannelsOfOneExchangeCarryItsTimes) {
  RemoteMeter meter(std::make_unique<ScriptedSource>(std::vector{good}), {});
  const auto readings = read_once(meter);
  ASSERT_EQ(readings.size(), 2u);
  EXPECT_EQ(readings[0].raw, 1500);
  EXPECT_EQ(readings[1].raw, 7);
  EXPECT_EQ(readings[0].before, readings[1].before);
  EXPECT_EQ(readings[0].after, readings[1].after);
}

TEST(RemoteMeter, AfterAFailureItPausesAndTellsTheReasonMeanwhile) {
  int asked = 0;
  RemotePace pace;
  pace.first_pause = seconds(3600);
  pace.longest_pause = seconds(3600);
  RemoteMeter meter(std::make_unique<ScriptedSource>(std::vector{good, silent, good}, &asked), pace);
  EXPECT_TRUE(read_once(meter)[0].ok());
  for (int i = 0; i < 3; ++i) EXPECT_EQ(read_once(meter)[1].reason, MissingReason::timed_out);
  EXPECT_EQ(asked, 2);
}

TEST(RemoteMeter, ComesBack) {
  RemotePace pace;
  pace.first_pause = pace.longest_pause = nanoseconds(1);
  RemoteMeter meter(std::make_unique<ScriptedSource>(std::vector{silent, good}), pace);
  EXPECT_FALSE(read_once(meter)[0].ok());
  EXPECT_TRUE(read_once(meter)[0].ok());
}

TEST(RemoteMeter, AValueThatIsTooOldIsMissing) {
  RemotePace pace;
  pace.max_age = seconds(10);
  RemoteMeter meter(std::make_unique<ScriptedSource>(std::vector<Answer<RemoteAnswer>>{RemoteAnswer{{1, 2}, seconds(11)}}), pace);
  EXPECT_EQ(read_once(meter)[0].reason, MissingReason::timed_out);
}

TEST(RemoteMeter, AChannelMayBeMissingAloneAndAShortAnswerIsNoValue) {
  RemoteMeter meter(std::make_unique<ScriptedSource>(std::vector<Answer<RemoteAnswer>>{
                        RemoteAnswer{{std::unexpected(MissingReason::rubbish), 2}, {}}, RemoteAnswer{{1}, {}}}),
                    {});
  auto readings = read_once(meter);
  EXPECT_EQ(readings[0].reason, MissingReason::rubbish);
  EXPECT_TRUE(readings[1].ok());
  readings = read_once(meter);
  EXPECT_TRUE(readings[0].ok());
  EXPECT_EQ(readings[1].reason, MissingReason::gone);
}

TEST(RemoteMeter, AFailedProbeDoesNotPauseTheFirstRoundUnlessTheLoginWasRefused) {
  int asked = 0;
  RemoteMeter late(std::make_unique<ScriptedSource>(std::vector{silent, good}, &asked), {});
  EXPECT_FALSE(late.probe(seconds(1)));
  EXPECT_TRUE(read_once(late)[0].ok());
  RemoteMeter wrong(std::make_unique<ScriptedSource>(std::vector{refused, good}, &asked), {});
  EXPECT_FALSE(wrong.probe(seconds(1)));
  EXPECT_EQ(read_once(wrong)[0].reason, MissingReason::permission);
  EXPECT_EQ(asked, 3);
}

constexpr RemoteKind node_kind{"redfish", "node", {.relative = 0.05, .absolute = {}}};
constexpr RemoteKind wall_kind{"mqtt", "wall", {}};

Settings meter_section() {
  Settings settings;
  settings.set("meters.a.kind", {std::string("mqtt"), {"c.toml", 2}});
  settings.set("meters.a.timeout", {std::string("250ms"), {"c.toml", 3}});
  settings.set("meters.a.component", {std::string("wall"), {"c.toml", 4}});
  settings.set("meters.a.max_power", {std::int64_t{800}, {"c.toml", 5}});
  settings.set("meters.a.error_percent", {1.5, {"c.toml", 6}});
  return settings;
}

TEST(RemoteSettings, AreReadFromTheSection) {
  const auto remote = read_remote_settings(meter_section(), "a", node_kind);
  ASSERT_TRUE(remote) << remote.error().line();
  EXPECT_EQ(remote->pace.timeout, milliseconds(250));
  EXPECT_EQ(remote->interval, seconds(1));
  EXPECT_EQ(remote->component.path(), "wall");
  EXPECT_EQ(to_watts(remote->max_power), 800);
  EXPECT_DOUBLE_EQ(remote->accuracy.relative, 0.015);
  EXPECT_EQ(read_remote_settings(Settings(), "a", node_kind)->component.path(), "node");
  EXPECT_EQ(read_remote_settings(Settings(), "a", node_kind)->accuracy.relative, 0.05);
}

TEST(RemoteSettings, OutOfRangeIsRefusedWithItsPlace) {
  for (const auto& [key, value] : std::vector<std::pair<const char*, SettingValue>>{{"meters.a.timeout", std::string("0s")},
                                                                                    {"meters.a.interval", std::string("2h")},
                                                                                    {"meters.a.component", std::string("/node")},
                                                                                    {"meters.a.max_power", -1.0},
                                                                                    {"meters.a.error_percent", 101.0}}) {
    Settings settings = meter_section();
    settings.set(key, {value, {"c.toml", 9}});
    const auto remote = read_remote_settings(settings, "a", node_kind);
    ASSERT_FALSE(remote) << key;
    EXPECT_EQ(remote.error().where, "c.toml:9");
  }
}

constexpr Advice none_configured{"no such meter is configured", "joulery config keys"};

TEST(ProbeRemote, WithoutASectionThereIsOneFinding) {
  const Discovery found = probe_remote(wall_kind, Settings(), none_configured, {});
  ASSERT_EQ(found.findings.size(), 1u);
  EXPECT_FALSE(found.findings[0].found);
  EXPECT_EQ(found.findings[0].reason, "no such meter is configured");
  EXPECT_TRUE(found.devices.empty());
}

TEST(ProbeRemote, ASilentMeterIsKeptForItMayComeBack) {
  const Discovery found = probe_remote(wall_kind, meter_section(), none_configured,
                                       [](const RemoteSettings&, const Settings&, std::string&) -> Result<std::unique_ptr<RemoteSource>> {
                                         return std::make_unique<ScriptedSource>(std::vector{silent});
                                       });
  ASSERT_EQ(found.devices.size(), 1u);
  EXPECT_TRUE(found.devices[0].slow);
  EXPECT_EQ(found.devices[0].name, "a");
  EXPECT_TRUE(found.findings[0].found);
  EXPECT_FALSE(found.findings[0].readable);
  EXPECT_EQ(found.findings[0].reason, "no answer");
}

TEST(ProbeRemote, AWrongSectionIsAFindingWithItsRemedy) {
  const Discovery found = probe_remote(wall_kind, meter_section(), none_configured,
                                       [](const RemoteSettings&, const Settings&, std::string&) -> Result<std::unique_ptr<RemoteSource>> {
                                         return fail(ErrorCode::usage, "no topic", "meters.a", "set meters.a.topic");
                                       });
  EXPECT_TRUE(found.devices.empty());
  EXPECT_EQ(found.findings[0].reason, "no topic: meters.a");
  EXPECT_EQ(found.findings[0].remedy, "set meters.a.topic");
}

}  // namespace
}  // namespace joulery
