#include "publish/html.h"

#include <gtest/gtest.h>

#include <cmath>

#include "publish/chart_picture.h"
#include "publish/html_text.h"
#include "tests/unit/publish/golden.h"
#include "tests/unit/publish/sample_reports.h"

namespace joulery {
namespace {

std::size_t count_of(const std::string& text, const std::string& what) {
  std::size_t count = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++count;
  return count;
}

TEST(Html, LooksAsItsGoldenFiles) {
  expect_golden("gpu_run.html", report_html(samples::gpu_run(), samples::gpu_chart()));
  expect_golden("vm_estimate.html", report_html(samples::vm_estimate(), samples::vm_chart()));
  expect_golden("partial.html", report_html(samples::partial(), samples::partial_chart()));
  expect_golden("zero_length.html", report_html(samples::zero_length(), {}));
  expect_golden("weird_names.html", report_html(samples::weird_names(), {}));
  expect_golden("layered.html", report_html(samples::layered(), {}));
}

TEST(Html, AsksNothingOfAnyServer) {
  const std::string page = report_html(samples::gpu_run(), samples::gpu_chart());
  for (const char* request : {"http:", "https:", "src=", "@import", "url(\"", "<link"})
    EXPECT_EQ(page.find(request), std::string::npos) << request;
}

TEST(Html, NoNameBecomesATagOrAScript) {
  const std::string page = report_html(samples::weird_names(), {});
  EXPECT_EQ(count_of(page, "<script"), 1u);
  EXPECT_EQ(count_of(page, "</script"), 1u);
  EXPECT_EQ(html_text("<a href=\"x\" onclick='y'>&\n"), "&lt;a href=&quot;x&quot; onclick=&#39;y&#39;&gt;&amp;\\n");
}

TEST(Html, EveryPictureHasATable) {
  const std::string page = report_html(samples::gpu_run(), samples::gpu_chart());
  EXPECT_NE(page.find("id=\"power-table\""), std::string::npos);
  EXPECT_EQ(count_of(page, "<table"), count_of(page, "</table>"));
  EXPECT_NE(page.find("url(#hatch)"), std::string::npos);
}

TEST(Html, TenThousandStepsStayASmallPage) {
  const Picture p = picture_of(samples::many_steps_chart(), samples::gpu_run());
  EXPECT_EQ(p.steps_in_all, 10'000);
  EXPECT_EQ(p.steps.size(), 200u);
  EXPECT_EQ(p.steps[0].name, "steps 1 to 50");
  EXPECT_EQ(p.slots(), 300u);
  EXPECT_LT(report_html(samples::gpu_run(), samples::many_steps_chart()).size(), 200'000u);
}

// Four slots of 1, 1, 1 and 3 s with 10, 20, unknown and 40 W, in two pictures slots: mean 15 W, then 40 W (known part).
TEST(Picture, ThinningWeighsByTimeAndLeavesTheUnknownOut) {
  Chart chart;
  chart.time = {0, 1, 2, 3, 6};
  chart.tracks = {{"node/cpu", "CPU", Quality::measured, false, {10, 20, std::nan(""), 40}},
                  {"node/dram", "DRAM", Quality::missing, false, {std::nan(""), std::nan(""), std::nan(""), std::nan("")}},
                  {"node/cpu/core", "Cores", Quality::measured, true, {1, 2, 3, 4}}};
  const Picture p = picture_of(chart, {}, 2);
  EXPECT_EQ(p.edges, (std::vector<double>{0, 2, 6}));
  ASSERT_EQ(p.layers.size(), 1u);
  EXPECT_EQ(p.layers[0].watts, (std::vector<double>{15, 40}));
  ASSERT_EQ(p.lines.size(), 1u);
  EXPECT_EQ(p.lines[0].watts, (std::vector<double>{1.5, 3.75}));  // (3 * 1 + 4 * 3) / 4
  EXPECT_EQ(p.missing, (std::vector<std::string>{"DRAM"}));
  ASSERT_EQ(p.gaps.size(), 1u);
  EXPECT_EQ(p.gaps[0].begin_s, 2);
  EXPECT_EQ(p.gaps[0].end_s, 3);
  EXPECT_EQ(p.gaps[0].names, "CPU");
}

TEST(Picture, TicksAreRound) {
  EXPECT_EQ(ticks_to(230, 5), (std::vector<double>{0, 50, 100, 150, 200}));
  EXPECT_EQ(ticks_to(10, 5), (std::vector<double>{0, 2, 4, 6, 8, 10}));
  EXPECT_EQ(ticks_to(0.9, 3).size(), 2u);  // 0 and 0.5
}

}  // namespace
}  // namespace joulery
