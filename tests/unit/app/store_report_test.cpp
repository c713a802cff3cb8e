#include "app/store_report.h"

#include <nlohmann/json.hpp>

#include "../record/store/store_folder.h"
#include "app/time_words.h"

namespace joulery {
namespace {

using namespace test;

constexpr int seconds_told = 7300;

// A node of 100 counts a second (2 J at 20 mJ): 20 idle, jobs a (50) and b (25); 5 that nobody has. Job b runs for half the time.
class StoreReport : public testing::Test {
 protected:
  SeriesKey consumer(const std::string& kind, const std::string& name, const std::string& team = "") {
    SeriesKey key{"consumer_joules", {{"component", "node"}, {"kind", kind}, {"name", name}}, stored_joule_unit};
    if (!team.empty()) key.labels["team"] = team;
    if (kind == "process") key.labels["job"] = name == "train[7]" ? "a" : "b";
    return key;
  }
  void SetUp() override {
    const auto store = open_store(folder_);
    const StoreSample samples[] = {{store->series(energy_of("node", stored_joule_unit)), 100},
                                   {store->series(consumer("idle", "")), 20},
                                   {store->series(consumer("unattributed", "")), 5},
                                   {store->series(consumer("job", "a")), 50},
                                   {store->series(consumer("process", "train[7]", "vision")), 50},
                                   {store->series(consumer("user", "ann")), 75},
                                   {store->series(consumer("tag", "team=vision")), 90},
                                   {store->series(consumer("job", "b")), 25},
                                   {store->series(consumer("process", "train[8]", "speech")), 25}};
    for (int i = 0; i < seconds_told; ++i) {
      const std::span all(samples);
      store->add(at_ms(march_ms + (i + 1) * 1000), seconds(1), i % 2 == 0 ? all : all.first(7));
    }
    ASSERT_TRUE(store->flush());
  }
  StoreBill bill(std::vector<std::string> by, const std::string& kind = "") {
    const auto reader = StoreReader::open(folder_.store());
    FactorConfig factors;
    factors.carbon.intensity = grams_per_kilowatt_hour(400);
    factors.carbon.pue = 1.5;
    factors.tariff = parse_tariff("0.30 EUR/kWh", "the test").value();
    auto made = bill_from_store(*reader, at_ms(march_ms), at_ms(march_ms + 8'000'000), std::move(by), kind, factors);
    EXPECT_TRUE(made) << (made ? "" : made.error().line());
    return made ? *made : StoreBill{};
  }
  StoreFolder folder_;
};

TEST_F(StoreReport, LinesSumToTheComponents) {
  const StoreBill of = bill({"team", "job"});
  EXPECT_EQ(of.kind, "process");
  ASSERT_EQ(of.rows.size(), 2u);
  EXPECT_EQ(of.rows[0].keys, (std::vector<std::string>{"vision", "a"}));
  EXPECT_EQ(of.rows[0].energy, microjoules(50LL * 20'000 * seconds_told));
  EXPECT_EQ(of.rows[1].energy, microjoules(25LL * 20'000 * seconds_told / 2));
  EXPECT_EQ(of.total, microjoules(100LL * 20'000 * seconds_told));
  EXPECT_EQ(of.idle, microjoules(20LL * 20'000 * seconds_told));
  EXPECT_EQ(of.rows[0].energy + of.rows[1].energy + of.idle + of.unattributed, of.total);
  EXPECT_EQ(of.covered, seconds(seconds_told));
  EXPECT_EQ(of.missing, seconds(8000 - seconds_told));
  // 14.6 kJ are 4.0556 Wh; times PUE 1.5, 400 g/kWh and 0.30 EUR/kWh.
  EXPECT_NEAR(of.grams(of.total), 14'600.0 / 3.6e6 * 1.5 * 400, 1e-9);
  EXPECT_NEAR(of.cost(of.total).value(), 14'600.0 / 3.6e6 * 1.5 * 0.30, 1e-12);
}

TEST_F(StoreReport, AConsumerWithoutTheLabelIsNone) {
  const StoreBill of = bill({"team"}, "user");
  ASSERT_EQ(of.rows.size(), 1u);
  EXPECT_EQ(of.rows[0].keys, std::vector<std::string>{"(none)"});
  EXPECT_EQ(of.unattributed, microjoules(5LL * 20'000 * seconds_told));
}

TEST_F(StoreReport, EachKindIsALine) {
  const StoreBill of = bill({});
  ASSERT_EQ(of.rows.size(), 4u);
  EXPECT_EQ(of.rows[0].keys, std::vector<std::string>{"tag"});
  EXPECT_EQ(of.rows[1].keys, std::vector<std::string>{"user"});
  EXPECT_EQ(of.unattributed, microjoules(5LL * 20'000 * seconds_told));
}

TEST_F(StoreReport, FormsHoldTheSameFigures) {
  const StoreBill of = bill({"job"});
  const auto told = nlohmann::json::parse(bill_json(of));
  EXPECT_EQ(told["consumers"][0]["keys"]["job"], "a");
  EXPECT_EQ(told["total"]["microjoules"], of.total.base_units());
  EXPECT_DOUBLE_EQ(told["missing_s"].get<double>(), 700);
  EXPECT_NE(bill_csv(of).find("consumer,a,7300.000000,0.5,"), std::string::npos) << bill_csv(of);
  EXPECT_NE(bill_csv(of).find("total,,14600.000000,1,"), std::string::npos) << bill_csv(of);
  const std::string text = bill_text(of);
  for (const char* line : {"idle", "unattributed", "total", "11 min 40 s are missing"})
    EXPECT_NE(text.find(line), std::string::npos) << text;
}

TEST_F(StoreReport, RefusesWhatIsNot) {
  const auto reader = StoreReader::open(folder_.store());
  const auto wrong = bill_from_store(*reader, at_ms(march_ms), at_ms(march_ms + 1000), {}, "jbo", {});
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, ErrorCode::usage);
  const auto nothing = bill_from_store(*reader, at_ms(0), at_ms(1000), {}, "", {});
  ASSERT_FALSE(nothing);
  EXPECT_EQ(nothing.error().code, ErrorCode::not_found);
}

TEST(TimeWords, AreRead) {
  const WallTime now = at_ms(march_ms);
  const auto ms = [&](const char* text) { return parse_time(text, "--from", now).value().ns / 1'000'000; };
  EXPECT_EQ(ms("now"), march_ms);
  EXPECT_EQ(ms("-1h"), march_ms - 3'600'000);
  EXPECT_EQ(ms("now-1d"), march_ms - 86'400'000);
  EXPECT_EQ(ms("2026-03-01T00:00:00Z"), march_ms);
  EXPECT_EQ(ms("2026-03-01T00:00Z"), march_ms);
  EXPECT_EQ(ms("2026-03-01 02:30:00.250+02:30"), march_ms + 250);
  EXPECT_EQ(ms("2026-02-28T19:00:00-0500"), march_ms);
  EXPECT_EQ(ms("@1772323200"), march_ms);
  EXPECT_EQ(utc_text(at_ms(march_ms)), "2026-03-01T00:00:00Z");
  EXPECT_EQ(utc_text(at_ms(march_ms - 1)), "2026-02-28T23:59:59.999Z");
  for (const char* text : {"", "yesterday", "2026-13-01", "2026-02-30", "2026-03-01T25:00Z", "2026-03-01T00:00:00X", "@", "@1x", "-5"})
    EXPECT_FALSE(parse_time(text, "--from", now)) << text;
}

}  // namespace
}  // namespace joulery
