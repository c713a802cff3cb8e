#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "publish/csv.h"
#include "publish/log_writer.h"
#include "publish/markdown.h"
#include "publish/samples.h"
#include "tests/unit/publish/golden.h"
#include "tests/unit/publish/sample_reports.h"

namespace joulery {
namespace {

TEST(Csv, FieldsAreQuotedAsRfc4180SaysAndStartNoFormula) {
  const std::pair<const char*, const char*> table[] = {{"plain", "plain"},
                                                       {"", ""},
                                                       {"a,b", "\"a,b\""},
                                                       {"say \"hi\"", "\"say \"\"hi\"\"\""},
                                                       {"two\nlines", "\"two\nlines\""},
                                                       {"=1+1", "'=1+1"},
                                                       {"+1", "'+1"},
                                                       {"-1", "'-1"},
                                                       {"@SUM(A1)", "'@SUM(A1)"},
                                                       {"=A,B", "\"'=A,B\""},
                                                       {"bad\xff", "bad\\xff"},
                                                       {"na\xc3\xafve", "na\xc3\xafve"}};
  for (const auto& [text, field] : table) EXPECT_EQ(csv_field(text), field);
  EXPECT_EQ(csv_number(12.5), "12.5");
  EXPECT_EQ(csv_number(std::nullopt), "");
  EXPECT_EQ(csv_number(std::nan("")), "");
}

TEST(Csv, LooksAsItsGoldenFiles) {
  for (const auto& [name, report] : samples::all()) expect_golden(name + ".csv", report_csv(report));
}

TEST(Markdown, LooksAsItsGoldenFiles) {
  for (const auto& [name, report] : samples::all()) expect_golden(name + ".md", report_markdown(report));
}

TEST(Markdown, NoNameGetsOutOfItsCell) {
  EXPECT_EQ(markdown_text("a|b\n<script>`x`*_[l](u)"), "a\\|b\\\\n&lt;script&gt;\\`x\\`\\*\\_\\[l\\](u)");
}

TEST(Samples, UtcWhateverTheDay) {
  EXPECT_EQ(iso_utc({0}), "1970-01-01T00:00:00.000000Z");
  EXPECT_EQ(iso_utc({1'709'164'800'123'456'789}), "2024-02-29T00:00:00.123456Z");  // date -u -d @1709164800
  EXPECT_EQ(iso_utc({-1}), "1969-12-31T23:59:59.999999Z");
}

// Two slots of 0.5 s at 10 W and 20 W: 5 J, then 15 J. Then a gap, then 10 W: 20 J, partial.
TEST(Samples, ChartRowsSumUpAndAGapMakesThemPartial) {
  Chart chart;
  chart.time = {0, 0.5, 1, 1.5, 2};
  chart.tracks = {{"node/cpu", "CPU", Quality::integrated, false, {10, 20, std::nan(""), 10}}};
  const auto rows = chart_samples(chart, {1'772'366'400'000'000'000});
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows[1].joules, joules(15));
  EXPECT_FALSE(rows[1].partial);
  EXPECT_FALSE(rows[2].watts);
  EXPECT_EQ(rows[2].quality, Quality::missing);
  EXPECT_EQ(rows[3].joules, joules(20));
  EXPECT_TRUE(rows[3].partial);
  std::string csv = sample_csv_header(), json;
  SampleJson writer;
  json = writer.head();
  for (const SampleRow& row : rows) {
    csv += sample_csv(row);
    json += writer.row(row);
  }
  json += writer.tail();
  EXPECT_EQ(csv,
            "time,elapsed_s,component,watts,joules,partial,quality,meter,reason\n"
            "2026-03-01T12:00:00.500000Z,0.500000,node/cpu,10,5.000000,false,integrated,,\n"
            "2026-03-01T12:00:01.000000Z,1.000000,node/cpu,20,15.000000,false,integrated,,\n"
            "2026-03-01T12:00:01.500000Z,1.500000,node/cpu,,,true,missing,,no reading\n"
            "2026-03-01T12:00:02.000000Z,2.000000,node/cpu,10,20.000000,true,integrated,,\n");
  const auto parsed = nlohmann::json::parse(json);
  EXPECT_EQ(parsed["schema"], "joulery.samples/1");
  ASSERT_EQ(parsed["samples"].size(), 4u);
  EXPECT_TRUE(parsed["samples"][2]["watts"].is_null());
  EXPECT_EQ(parsed["samples"][2]["reason"], "no reading");
  EXPECT_EQ(nlohmann::json::parse(SampleJson().head() + SampleJson().tail())["samples"].size(), 0u);
}

TEST(Log, CsvAndJsonLinesKeepTheReasonOfWhatIsMissing) {
  const std::vector<LogColumn> columns = {{"node/cpu", "watts"}, {"node/dram", "watts"}, {"node/cpu", "utilisation"}};
  const std::vector<LogValue> values = {{65.25, ""}, {std::nullopt, "read failed, EIO"}, {0.5, ""}};
  const WallTime time{1'772'366'400'250'000'000};
  const LogWriter csv(columns, LogFormat::csv), json(columns, LogFormat::json_lines);
  EXPECT_EQ(csv.header(), "time,elapsed_s,node/cpu:watts,node/dram:watts,node/cpu:utilisation,reason\n");
  EXPECT_EQ(csv.row(time, milliseconds(250), values),
            "2026-03-01T12:00:00.250000Z,0.250,65.25,,0.5,\"node/dram:watts: read failed, EIO\"\n");
  EXPECT_EQ(json.header(), "");
  EXPECT_EQ(json.row(time, milliseconds(250), values),
            "{\"time\":\"2026-03-01T12:00:00.250000Z\",\"elapsed_s\":0.250,\"watts\":{\"node/cpu\":65.25,\"node/dram\":null},"
            "\"utilisation\":{\"node/cpu\":0.5},\"reasons\":{\"node/dram:watts\":\"read failed, EIO\"}}\n");
}

TEST(Log, AShortRowIsFilledWithWhatIsMissing) {
  const LogWriter csv({{"node/cpu", "watts"}, {"node/dram", "watts"}}, LogFormat::csv);
  const std::vector<LogValue> values = {{std::nan(""), ""}};
  EXPECT_EQ(csv.row({0}, milliseconds(0), values),
            "1970-01-01T00:00:00.000000Z,0.000,,,node/cpu:watts: no reading; node/dram:watts: no reading\n");
}

}  // namespace
}  // namespace joulery
