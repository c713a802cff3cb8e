#include "publish/prometheus_text.h"

#include <gtest/gtest.h>

namespace joulery {
namespace {

// One counter with hostile names, one gauge; expected texts written by hand from the formats' own documents.
std::vector<MetricFamily> families() {
  return {{"joulery_energy_joules_total",
           MetricType::counter,
           "joules",
           "Say \"so\\far\"\nand on.",
           {{{{"kind", "process"}, {"name", "a \"b\\c\nd\xff}[1]"}}, MetricValue::of(microjoules(1'500'000))},
            {{}, MetricValue::of(microjoules(9'007'199'254'740'993))}}},
          {"joulery_power_watts", MetricType::gauge, "watts", "Power.", {{{{"component", "node/gpu/0"}}, MetricValue::real(21.5)}}},
          {"joulery_faults_total", MetricType::counter, "", "Faults.", {{{}, MetricValue::whole(0)}}}};
}

TEST(PrometheusText, PlainFormat) {
  EXPECT_EQ(scrape_text(families(), ScrapeFormat::prometheus),
            "# HELP joulery_energy_joules_total Say \"so\\\\far\"\\nand on.\n"
            "# TYPE joulery_energy_joules_total counter\n"
            "joulery_energy_joules_total{kind=\"process\",name=\"a \\\"b\\\\c\\nd\\\\xff}[1]\"} 1.500000\n"
            "joulery_energy_joules_total 9007199254.740993\n"
            "# HELP joulery_power_watts Power.\n"
            "# TYPE joulery_power_watts gauge\n"
            "joulery_power_watts{component=\"node/gpu/0\"} 21.5\n"
            "# HELP joulery_faults_total Faults.\n"
            "# TYPE joulery_faults_total counter\n"
            "joulery_faults_total 0\n");
}

TEST(PrometheusText, OpenMetrics) {
  EXPECT_EQ(scrape_text(families(), ScrapeFormat::openmetrics),
            "# HELP joulery_energy_joules Say \\\"so\\\\far\\\"\\nand on.\n"
            "# TYPE joulery_energy_joules counter\n"
            "# UNIT joulery_energy_joules joules\n"
            "joulery_energy_joules_total{kind=\"process\",name=\"a \\\"b\\\\c\\nd\\\\xff}[1]\"} 1.500000\n"
            "joulery_energy_joules_total 9007199254.740993\n"
            "# HELP joulery_power_watts Power.\n"
            "# TYPE joulery_power_watts gauge\n"
            "# UNIT joulery_power_watts watts\n"
            "joulery_power_watts{component=\"node/gpu/0\"} 21.5\n"
            "# HELP joulery_faults Faults.\n"
            "# TYPE joulery_faults counter\n"
            "joulery_faults_total 0\n"
            "# EOF\n");
}

TEST(PrometheusText, ScrapersGetWhatTheyAskFor) {
  struct Case {
    const char* accept;
    ScrapeFormat format;
  };
  using enum ScrapeFormat;
  constexpr Case cases[] = {
      {"", prometheus},
      {"*/*", prometheus},
      {"text/html,application/xhtml+xml,*/*;q=0.8", prometheus},
      // Prometheus 2.42 and 2.53
      {"application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/"
       "*;q=0.1",
       openmetrics},
      {"application/openmetrics-text;version=1.0.0;q=0.5,application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=0.0.4;q=0.3",
       openmetrics},
      {"text/plain;version=0.0.4;q=0.9,application/openmetrics-text;q=0.5", prometheus},
      {"application/openmetrics-text; version=2.0.0", prometheus},
      {"application/openmetrics-text;q=0", prometheus},
      {"application/openmetrics-text;q=nan", prometheus},
      {"application/openmetrics-text;q=-1, text/plain", prometheus},
      {"APPLICATION/OpenMetrics-Text ; Version=1.0.0 ; q=1", openmetrics},
      {",;,=;q=;;,", prometheus},
  };
  for (const Case& one : cases) EXPECT_EQ(scrape_format(one.accept), one.format) << one.accept;
}

TEST(PrometheusText, NothingButTheEndWhereThereIsNothing) {
  EXPECT_EQ(scrape_text({}, ScrapeFormat::prometheus), "");
  EXPECT_EQ(scrape_text({}, ScrapeFormat::openmetrics), "# EOF\n");
}

}  // namespace
}  // namespace joulery
