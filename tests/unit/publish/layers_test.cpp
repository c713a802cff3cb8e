#include "publish/layers.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "publish/layers_text.h"
#include "publish/markdown.h"
#include "publish/text.h"
#include "tests/unit/publish/golden.h"
#include "tests/unit/publish/sample_reports.h"

namespace joulery {
namespace {

TEST(LayersOutput, LooksAsItsGoldenFiles) {
  expect_golden("layered.ledger.json", ledger_json(samples::layered()));
  expect_golden("layered.ledger.txt", ledger_text(samples::layered(), {.width = 80}));
  expect_golden("layered.ledger_ascii.txt", ledger_text(samples::layered(), {.unicode = false, .width = 50}));
}

// The printed figures themselves, read as text: "830.000000" is 830,000,000 microjoules.
std::int64_t microjoules_of(const std::string& json, std::size_t at) {
  const std::size_t begin = json.find("\"joules\": ", at) + 10;
  std::string number = json.substr(begin, json.find_first_of(",\n", begin) - begin);
  if (number == "null") return 0;
  return std::stoll(number.erase(number.find('.'), 1));
}

TEST(LayersOutput, PrintedPartsAndResidualSumToThePrintedWhole) {
  const std::string json = ledger_json(samples::layered());
  int layers = 0;
  for (std::size_t at = json.find("\"name\": "); at != std::string::npos;) {
    const std::size_t next = std::min(json.find("\"name\": ", at + 1), json.size());
    const std::int64_t whole = microjoules_of(json, at);
    std::int64_t sum = microjoules_of(json, json.find("\"residual\": ", at));
    for (std::size_t part = json.find("\"path\": ", at); part < std::min(next, json.find("\"residual\": ", at));
         part = json.find("\"path\": ", part + 1))
      sum += microjoules_of(json, part);
    EXPECT_EQ(sum, whole) << json.substr(at, 30);
    ++layers;
    at = next == json.size() ? std::string::npos : next;
  }
  EXPECT_EQ(layers, 3);
}

TEST(LayersOutput, ANegativeResidualKeepsItsSignAndItsReasonEverywhere) {
  const Report report = samples::layered();
  for (const std::string& text : {report_text(report, {}), report_markdown(report), ledger_text(report, {.width = 120})}) {
    EXPECT_NE(text.find("-10.0 J"), std::string::npos) << text;
    EXPECT_NE(text.find("more than"), std::string::npos) << text;
  }
}

TEST(LayersOutput, ADelayThatIsNotKnownIsSaidAndNeverZero) {
  const Report report = samples::layered();
  EXPECT_EQ(delay_words(report.delays[0]), "node, hwmon: not known: the load hardly changed: a flat power tells no delay");
  EXPECT_EQ(delay_words(report.delays[1]), "wall, http-json: 1,700 ms (1,650 to 1,750 ms) after rapl.powercap, correlation 0.98");
  const auto json = nlohmann::json::parse(ledger_json(report));
  EXPECT_TRUE(json["meter_delays"][0]["milliseconds"].is_null());
}

TEST(LayersOutput, WithoutAWholeTheSummarySaysNothingOfLayersAndTheLedgerSaysWhy) {
  Report report = samples::layered();
  for (ReportLayer& layer : report.layers)
    if (layer.name != "workloads") layer = {layer.name, layer.label, {}, Quality::missing, "", "no meter of it", 0, 10, {}, {}};
  report.delays.clear();
  EXPECT_FALSE(tells_layers(report));
  EXPECT_EQ(report_text(report, {}).find("Layer"), std::string::npos);
  EXPECT_NE(ledger_text(report, {}).find("no meter of it"), std::string::npos);
}

}  // namespace
}  // namespace joulery
