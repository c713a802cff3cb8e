#include "sense/scrape/prometheus.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "sense/scrape/exporters.h"
#include "web_server.h"

namespace joulery {
namespace {

using ::testing::HasSubstr;

TEST(PrometheusText, TakesWhatTheFormatAllows) {
  const PrometheusPage page = parse_prometheus_text(
      "# HELP a b\n# TYPE a counter\n\na 1\nb{} 2 1700000000000\n"
      "c:d{x=\"a\\\"b\\\\c\\nd\", y = \"\",} 3e2\r\n  e{z=\"}\"} +Inf\nf NaN\ng -1.5");
  ASSERT_EQ(page.samples.size(), 6u);
  EXPECT_EQ(page.bad_lines, 0u);
  EXPECT_EQ(page.samples[1].value, 2);
  EXPECT_EQ(page.samples[2].name, "c:d");
  EXPECT_EQ(page.samples[2].label("x"), "a\"b\\c\nd");
  EXPECT_EQ(page.samples[2].value, 300);
  EXPECT_EQ(page.samples[3].label("z"), "}");
  EXPECT_TRUE(std::isinf(page.samples[3].value));
  EXPECT_TRUE(std::isnan(page.samples[4].value));
  EXPECT_EQ(page.samples[5].value, -1.5);
}

TEST(PrometheusText, ABadLineCostsItselfAlone) {
  const PrometheusPage page = parse_prometheus_text("a{x=\"1} 1\n9a 1\na x\na{=\"1\"} 1\na 1 x\na 1,5\na\ngood 4\n");
  EXPECT_EQ(page.bad_lines, 7u);
  ASSERT_EQ(page.samples.size(), 1u);
  EXPECT_EQ(page.samples[0].value, 4);
}

// Decimal 9223372036854775794 is what a page shows for "not supported".
TEST(PrometheusText, DcgmBlanksAreNoValues) {
  EXPECT_TRUE(is_dcgm_blank(9223372036854775794.0, false));
  EXPECT_TRUE(is_dcgm_blank(140737488355328.0, false));
  EXPECT_TRUE(is_dcgm_blank(140737488355330.0, false));
  EXPECT_TRUE(is_dcgm_blank(2147483632.0, true));
  EXPECT_FALSE(is_dcgm_blank(2147483632.0, false));
  EXPECT_FALSE(is_dcgm_blank(257858316.0, true));
  EXPECT_FALSE(is_dcgm_blank(0, true));
}

std::vector<ScrapedValue> values_of(std::string_view text, const ScrapeChoice& choice = {}) {
  const auto values = scraped_values(parse_prometheus_text(text), choice);
  EXPECT_TRUE(values) << values.error();
  return values ? *values : std::vector<ScrapedValue>();
}

constexpr std::string_view dcgm =
    "# TYPE DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION counter\n"
    "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION{gpu=\"0\",UUID=\"GPU-5b4e\",pci_bus_id=\"00000000:00:07.0\",Hostname=\"n1\"} 5551899580\n"
    "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION{gpu=\"1\",UUID=\"GPU-6c5f\",pci_bus_id=\"00000000:00:08.0\",Hostname=\"n1\"} "
    "9223372036854775794\n"
    "DCGM_FI_DEV_POWER_USAGE{gpu=\"0\",UUID=\"GPU-5b4e\",Hostname=\"n1\"} 35.686000\n"
    "DCGM_FI_DEV_POWER_USAGE{gpu=\"1\",UUID=\"GPU-6c5f\",Hostname=\"n1\"} 60.1\n"
    "DCGM_FI_DEV_SM_CLOCK{gpu=\"0\"} 210\n";

TEST(Exporters, DcgmTellsEnergyAndPowerOfEachGpu) {
  const auto values = values_of(dcgm);
  ASSERT_EQ(values.size(), 4u);
  EXPECT_EQ(values[0].component, "gpu/0");
  EXPECT_EQ(*values[0].value, 5551899580);
  EXPECT_DOUBLE_EQ(values[0].scaling.unit.si * values[0].scaling.step, 1e-3);  // millijoules
  EXPECT_EQ(values[1].value.error(), MissingReason::not_supported);
  EXPECT_EQ(*values[2].value, 35686);
  EXPECT_EQ(values[3].component, "gpu/1");
}

// Seen on an A800 in MIG mode: three slices, each with the energy of the whole GPU.
TEST(Exporters, SlicesInMigModeAreOneGpu) {
  std::string page;
  for (const char* slice : {"3", "5", "6"})
    page += std::string("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION{gpu=\"0\",UUID=\"GPU-a8\",GPU_I_PROFILE=\"1g.10gb\",GPU_I_ID=\"") + slice +
            "\"} 257858316\n";
  const auto values = values_of(page);
  ASSERT_EQ(values.size(), 1u);
  EXPECT_EQ(*values[0].value, 257858316);
  ScrapeChoice by_name;
  by_name.metric = "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION";
  by_name.scaling = {*parse_meter_unit("mJ"), 1, 1};
  EXPECT_EQ(values_of(page, by_name).size(), 1u);
}

TEST(Exporters, GpusOfSeveralMachinesAreToldApartByLabels) {
  const std::string page =
      "DCGM_FI_DEV_POWER_USAGE{gpu=\"0\",UUID=\"GPU-a\",Hostname=\"n1\"} "
      "100\nDCGM_FI_DEV_POWER_USAGE{gpu=\"0\",UUID=\"GPU-b\",Hostname=\"n2\"} 200\n";
  EXPECT_FALSE(scraped_values(parse_prometheus_text(page), {}));
  ScrapeChoice choice;
  choice.labels = {{"Hostname", "n2"}};
  const auto values = values_of(page, choice);
  ASSERT_EQ(values.size(), 1u);
  EXPECT_EQ(*values[0].value, 200000);
}

TEST(Exporters, NodeExporterZonesGoToTheirSocket) {
  const auto values = values_of(
      "node_rapl_package_joules_total{index=\"1\",path=\"/sys/class/powercap/intel-rapl:0\"} 10.5\n"
      "node_rapl_package_joules_total{index=\"0\",path=\"/sys/class/powercap/intel-rapl:1\"} 20.5\n"
      "node_rapl_dram_joules_total{index=\"0\",path=\"/sys/class/powercap/intel-rapl:0:0\"} 3\n"
      "node_rapl_core_joules_total{index=\"0\",path=\"/sys/class/powercap/intel-rapl:1:0\"} 7\n"
      "node_rapl_psys_joules_total{index=\"0\",path=\"/sys/class/powercap/intel-rapl:2\"} 50\n"
      "node_rapl_package_joules_total{index=\"0\",path=\"/sys/class/powercap/intel-rapl-mmio:0\"} 20.5\n");
  ASSERT_EQ(values.size(), 5u);
  EXPECT_EQ(values[0].component, "cpu/package-1");
  EXPECT_EQ(*values[0].value, 10'500'000);
  EXPECT_EQ(values[1].component, "cpu/package-0");
  EXPECT_EQ(values[2].component, "dram/package-1");
  EXPECT_EQ(values[3].component, "cpu/package-0/core");
  EXPECT_TRUE(values[4].platform);
}

TEST(Exporters, KeplerZonesAndPlatform) {
  const auto values = values_of(
      "kepler_node_cpu_joules_total{node_name=\"n1\",path=\"/sys/class/powercap/intel-rapl:0\",zone=\"package\"} 75077.347981\n"
      "kepler_node_cpu_joules_total{node_name=\"n1\",path=\"/sys/class/powercap/intel-rapl:0:1\",zone=\"dram\"} 11\n"
      "kepler_node_cpu_active_joules_total{zone=\"package\"} 1\nkepler_platform_watts{source=\"redfish\"} 312\n");
  ASSERT_EQ(values.size(), 3u);
  EXPECT_EQ(values[0].component, "cpu/package-0");
  EXPECT_EQ(*values[0].value, 75'077'347'981);
  EXPECT_EQ(values[1].component, "dram/package-0");
  EXPECT_EQ(values[2].component, "");
  EXPECT_EQ(*values[2].value, 312000);
}

TEST(Exporters, AMetricOfOnesOwnNeedsOneSeries) {
  const std::string page = "pdu_power{outlet=\"1\"} 10\npdu_power{outlet=\"2\"} NaN\n";
  ScrapeChoice choice;
  choice.metric = "pdu_power";
  EXPECT_FALSE(scraped_values(parse_prometheus_text(page), choice));
  choice.labels = {{"outlet", "1"}};
  EXPECT_EQ(*values_of(page, choice).at(0).value, 10000);
  choice.labels = {{"outlet", "2"}};
  EXPECT_EQ(values_of(page, choice).at(0).value.error(), MissingReason::rubbish);
  choice.labels = {{"outlet", "3"}};
  EXPECT_TRUE(values_of(page, choice).empty());
}

TEST(Prometheus, ScrapesAPageAndSaysWhatIsGone) {
  std::atomic<int> asked = 0;
  const WebServer server([&](const WebRequest&) {
    return ++asked < 3 ? WebServer::answer(200, dcgm)
                       : WebServer::answer(200, "DCGM_FI_DEV_POWER_USAGE{gpu=\"1\",UUID=\"GPU-6c5f\",Hostname=\"n1\"} 61\n");
  });
  Settings settings;
  settings.set("meters.gpus.kind", {std::string("prometheus"), {"c.toml", 1}});
  settings.set("meters.gpus.url", {server.url("/metrics"), {"c.toml", 2}});
  Discovery found = probe_prometheus(Machine(), settings);
  ASSERT_EQ(found.devices.size(), 1u) << found.findings[0].reason;
  Meter& meter = *found.devices[0].meter;
  ASSERT_EQ(meter.channels().size(), 4u);
  EXPECT_EQ(meter.channels()[0].component.path(), "node/gpu/0");
  Sink sink(4);
  for (int round = 0; round < 2; ++round) {
    sink.start();
    meter.read(sink);
    sink.finish();
  }
  EXPECT_EQ(sink.readings()[0].reason, MissingReason::gone);
  EXPECT_EQ(sink.readings()[3].raw, 61000);
}

TEST(Prometheus, APageWithoutEnergyIsAFindingAndNoDevice) {
  const WebServer server([](const WebRequest&) { return WebServer::answer(200, "up 1\n"); });
  Settings settings;
  settings.set("meters.x.kind", {std::string("prometheus"), {"c.toml", 1}});
  settings.set("meters.x.url", {server.url(), {"c.toml", 2}});
  const Discovery found = probe_prometheus(Machine(), settings);
  EXPECT_TRUE(found.devices.empty());
  EXPECT_THAT(found.findings[0].reason, HasSubstr("no series of dcgm-exporter"));
  EXPECT_FALSE(probe_prometheus(Machine(), Settings()).findings[0].found);
}

}  // namespace
}  // namespace joulery
