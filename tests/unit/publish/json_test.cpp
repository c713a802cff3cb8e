#include "publish/json.h"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <random>

#include "publish/html_text.h"
#include "publish/numbers.h"
#include "publish/utf8.h"
#include "tests/unit/publish/golden.h"
#include "tests/unit/publish/sample_reports.h"

namespace joulery {
namespace {

// "12.345678" as microjoules, by text alone, so that no double stands between the output and the check.
std::int64_t microjoules_in(std::string text) {
  const std::size_t point = text.find('.');
  EXPECT_EQ(text.size() - point, 7u) << text;
  return std::stoll(text.erase(point, 1));
}

// The raw text after each `"joules": ` in one section.
std::vector<std::string> raw_joules(const std::string& json, const std::string& from, const std::string& to) {
  std::vector<std::string> found;
  const std::size_t begin = json.find(from), end = json.find(to);
  for (std::size_t at = json.find("\"joules\": ", begin); at < end; at = json.find("\"joules\": ", at + 1)) {
    const std::size_t start = at + 10;
    found.push_back(json.substr(start, json.find_first_of(",\n", start) - start));
  }
  return found;
}

TEST(Json, LooksAsItsGoldenFiles) {
  for (const auto& [name, report] : samples::all()) expect_golden(name + ".json", report_json(report));
}

TEST(Json, IsValidForAnIndependentParserAndHasEveryField) {
  for (const auto& [name, report] : samples::all()) {
    const auto parsed = nlohmann::json::parse(report_json(report));
    for (const char* field : {"schema", "command", "exit_code", "begin", "duration_s", "energy", "components", "phases", "steps", "work",
                              "kpis", "processes", "carbon", "cost", "sampling", "flags"})
      EXPECT_TRUE(parsed.contains(field)) << name << " lacks " << field;
    EXPECT_EQ(nlohmann::json::parse(report_json(report, 0)), parsed) << name;
  }
}

TEST(Json, CountedComponentsSumToTheTotalToTheMicrojoule) {
  const std::string json = report_json(samples::gpu_run());
  const auto parts = raw_joules(json, "\"components\"", "\"phases\"");
  ASSERT_EQ(parts.size(), 5u);
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < 4; ++i) sum += microjoules_in(parts[i]);  // the fifth is an overlap
  EXPECT_EQ(sum, 25'000'000'000);
  EXPECT_EQ(raw_joules(json, "\"energy\"", "\"components\"")[0], "25000.000000");
}

TEST(Json, EnergiesBeyondTheDoublesExactnessKeepTheirLastMicrojoule) {
  EXPECT_EQ(exact_joules(microjoules(9'007'199'254'740'993)), "9007199254.740993");
  EXPECT_EQ(exact_joules(microjoules(std::numeric_limits<std::int64_t>::max())), "9223372036854.775807");
  EXPECT_EQ(exact_joules(microjoules(std::numeric_limits<std::int64_t>::min())), "-9223372036854.775808");
  EXPECT_EQ(exact_joules(microjoules(-1)), "-0.000001");
  EXPECT_EQ(exact_joules(microjoules(0)), "0.000000");
}

TEST(Json, RandomPartsSumToTheWhole) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 50; ++round) {
    Report r = samples::vm_estimate();
    r.components.clear();
    Energy total{};
    for (int i = 0; i < 20; ++i) {
      ReportComponent c;
      c.quality = Quality::measured;
      const Energy value = microjoules(static_cast<std::int64_t>(random() % 400'000'000'000'000'000ULL));
      c.joules = Estimate{value, value, value};
      total += value;
      r.components.push_back(c);
    }
    r.energy.joules = Estimate{total, total, total};
    const std::string json = report_json(r);
    std::int64_t sum = 0;
    for (const std::string& part : raw_joules(json, "\"components\"", "\"phases\"")) sum += microjoules_in(part);
    EXPECT_EQ(sum, microjoules_in(raw_joules(json, "\"energy\"", "\"components\"")[0]));
  }
}

TEST(Json, WhatIsUnknownIsNullAndHasAReason) {
  const auto json = nlohmann::json::parse(report_json(samples::partial()));
  EXPECT_TRUE(json["exit_code"].is_null());
  EXPECT_EQ(json["exit_reason"], "the recording ends before the command did");
  EXPECT_TRUE(json["components"][2]["joules"].is_null());
  EXPECT_EQ(json["components"][2]["reason"], "this processor has no DRAM domain");
  EXPECT_TRUE(json["phases"][1]["joules"].is_null());
  EXPECT_EQ(json["phases"][1]["reason"], "a gap covers its end");
  EXPECT_TRUE(json["carbon"]["grams"].is_null());
  EXPECT_EQ(json["carbon"]["reason"], "switched off");
  EXPECT_TRUE(json["cost"]["amount"].is_null());
  EXPECT_EQ(json["processes"][0]["reason"], "/proc/77/schedstat could not be read");
}

TEST(Json, NoNumberThatIsNotJson) {
  Report r = samples::gpu_run();
  const double inf = std::numeric_limits<double>::infinity();
  r.mean_watts = inf;
  r.duration_s = -inf;
  r.components[0].mean_watts = std::numeric_limits<double>::quiet_NaN();
  r.work[0].count = inf;
  const auto json = nlohmann::json::parse(report_json(r));
  EXPECT_TRUE(json["mean_watts"].is_null());
  EXPECT_TRUE(json["components"][0]["mean_watts"].is_null());
}

TEST(Json, BytesThatAreNoUtf8BecomeVisible) {
  EXPECT_EQ(json_quoted("bad\xff\xfe"), "\"bad\\\\xff\\\\xfe\"");
  EXPECT_EQ(json_quoted("\xed\xa0\x80"), "\"\\\\xed\\\\xa0\\\\x80\"");  // a surrogate in UTF-8 clothes
  EXPECT_EQ(json_quoted("\xc0\xaf"), "\"\\\\xc0\\\\xaf\"");            // overlong '/'
  EXPECT_EQ(json_quoted("\xe6\x97"), "\"\\\\xe6\\\\x97\"");            // cut off
  EXPECT_EQ(json_quoted("\xf0\x9f\x94\x8b"), "\"\xf0\x9f\x94\x8b\"");
  EXPECT_EQ(json_quoted("a\"b\\\n\x01\x1b"), "\"a\\\"b\\\\\\n\\u0001\\u001b\"");
}

// Any bytes at all become one line of valid text, in JSON, in HTML and on a terminal.
TEST(Json, RandomBytesAreHarmlessEverywhere) {
  std::mt19937 random(23);
  for (int round = 0; round < 3000; ++round) {
    std::string bytes;
    for (auto i = random() % 24; i > 0; --i) bytes += static_cast<char>(random() % 4 ? random() % 256 : 0x20 + random() % 64);
    EXPECT_TRUE(nlohmann::json::accept(json_quoted(bytes)));
    EXPECT_EQ(html_text(bytes).find_first_of("<>\"'\n"), std::string::npos);
    const std::string line = printable(bytes);
    EXPECT_EQ(line, printable(line));  // nothing is left to escape
    EXPECT_EQ(line, valid_utf8(line));
    for (const char c : printable(bytes, false)) EXPECT_TRUE(c >= 0x20 && c < 0x7f);
  }
}

}  // namespace
}  // namespace joulery
