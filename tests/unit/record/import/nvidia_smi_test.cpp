#include <gtest/gtest.h>

#include "helpers.h"
#include "record/import/nvidia_gpu.h"
#include "sense/parse_number.h"

namespace joulery {
namespace {

TEST(NvidiaSmiCsv, WhatACardDoesNotKnowIsNoNumber) {
  // 61.23, [N/A], [Not Supported], ERR!: one card answers, two never will, one did not this time.
  const ImportedLog log = imported(
      "timestamp, index, name, power.draw [W]\n"
      "2026/03/01 10:00:00.000, 0, Tesla V100, 61.23 W\n"
      "2026/03/01 10:00:00.001, 1, Tesla V100, [N/A]\n"
      "2026/03/01 10:00:00.002, 2, Tesla V100, [Not Supported]\n"
      "2026/03/01 10:00:00.003, 3, Tesla V100, ERR!\n"
      "2026/03/01 10:00:01.000, 0, Tesla V100, 61.23 W\n"
      "2026/03/01 10:00:01.001, 1, Tesla V100, [N/A]\n"
      "2026/03/01 10:00:01.002, 2, Tesla V100, [Not Supported]\n"
      "2026/03/01 10:00:01.003, 3, Tesla V100, ERR!\n");
  ASSERT_EQ(log.devices.size(), 4U);
  EXPECT_DOUBLE_EQ(si(log.devices[0], 0), 61.23);
  EXPECT_EQ(log.devices[0].channels[0].component.path(), "node/gpu/0");
  EXPECT_EQ(reason(log.devices[1], 0), MissingReason::not_supported);
  EXPECT_EQ(reason(log.devices[2], 1), MissingReason::not_supported);
  EXPECT_EQ(reason(log.devices[3], 0), MissingReason::io_error);
  EXPECT_EQ(log.devices[3].lines[0].values[0].raw, 0);
}

TEST(NvidiaSmiCsv, TheSensorIsThatOfTheCardAndItsDriver) {
  const auto window = [](const char* name, const char* driver) {
    const ImportedLog log = imported(std::string("timestamp, name, driver_version, power.draw [W]\n") + "2026/03/01 10:00:00, " + name +
                                     ", " + driver + ", 50\n2026/03/01 10:00:09, " + name + ", " + driver + ", 50\n");
    return log.devices.at(0).channels.at(0).averaging_window;
  };
  EXPECT_EQ(window("NVIDIA A100-SXM4-40GB", "550.54.15"), milliseconds(25));
  EXPECT_EQ(window("NVIDIA GeForce RTX 4090", "550.54.15"), milliseconds(1000));
  EXPECT_EQ(window("NVIDIA GeForce RTX 4090", "530.30.02"), milliseconds(100));
  EXPECT_EQ(window("Tesla V100-SXM2-16GB", "525.60.13"), milliseconds(10));
  EXPECT_EQ(window("NVIDIA H100 80GB HBM3", "590.48.01"), milliseconds(1000));
}

TEST(NvidiaSmiCsv, LinesThatAreNoReadingsAreCountedAndAClockThatGoesBackToo) {
  const ImportedLog log = imported(
      "timestamp, power.draw [W]\n"
      "2026/03/01 10:00:01, 50\n"
      "Unable to determine the device handle for GPU: Unknown Error\n"
      "2026/03/01 10:00:00, 50\n"
      "2026/03/01 10:00:02, 60\n");
  ASSERT_EQ(log.devices.size(), 1U);
  EXPECT_EQ(log.devices[0].lines.size(), 2U);
  EXPECT_TRUE(has_note(log, "lines-left-out: 1, the first is line 3"));
  EXPECT_TRUE(has_note(log, "clock-went-back: 1 line left out"));
  EXPECT_TRUE(has_note(log, "gpu-unnamed"));
  EXPECT_TRUE(has_note(log, "sensor-unknown"));
}

TEST(NvidiaSmiCsv, WithoutPowerTheErrorSaysWhatToLog) {
  const auto log = import_log("timestamp, utilization.gpu [%]\n2026/03/01 10:00:00, 5\n", "", {});
  ASSERT_FALSE(log);
  EXPECT_EQ(log.error().code, ErrorCode::format);
  EXPECT_NE(log.error().hint.find("power.draw"), std::string::npos);
}

// The CSV of all fields in a capture, twice: with the first second's times changed.
std::string all_fields_of(const std::string& file) {
  std::string text = file_text(shared_data + "sensors/nvidia_smi/" + file);
  const auto header = text.find("\ntimestamp, driver_version");
  std::string_view rest = std::string_view(text).substr(header + 1);
  std::string out(next_line(rest));
  std::string rows;
  for (std::string_view line = next_line(rest); line.starts_with("20"); line = next_line(rest)) rows += std::string(line) + "\n";
  std::string later = rows;
  for (std::size_t at = 0; (at = later.find("\n20", at)) != std::string::npos; ++at) later.replace(at + 1, 4, "2099");
  later.replace(0, 4, "2099");
  return out + "\n" + rows + later;
}

TEST(NvidiaSmiCsv, RealCapturesOfAllFields) {
  if (!std::filesystem::exists(shared_data + "sensors/nvidia_smi")) GTEST_SKIP() << "skipped: no ../shared";
  std::size_t captures = 0;
  for (const auto& entry : std::filesystem::directory_iterator(shared_data + "sensors/nvidia_smi")) {
    if (entry.path().extension() != ".txt") continue;
    const ImportedLog log = imported(all_fields_of(entry.path().filename().string()));
    ASSERT_FALSE(log.devices.empty()) << entry.path();
    EXPECT_FALSE(has_note(log, "sensor-unknown")) << entry.path();
    const LoggedDevice& gpu = log.devices[0];
    EXPECT_TRUE(gpu.name.starts_with("gpu 0 NVIDIA ")) << gpu.name;
    EXPECT_EQ(reason(gpu, 0), MissingReason::none) << entry.path();
    EXPECT_GT(si(gpu, 0), 1) << entry.path();
    EXPECT_LT(si(gpu, 0), 800) << entry.path();
    ++captures;
  }
  EXPECT_EQ(captures, 7U);
}

TEST(NvidiaSmiXml, RealDocumentsOfEverySchema) {
  const std::string folder = shared_data + "sensors/telegraf/nvidia_smi_xml/";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "skipped: no ../shared";
  struct Expected {
    const char* file;
    std::vector<std::pair<std::string, double>> watts;  // as grep finds them in the file; below 0: N/A
  };
  const Expected all[] = {
      {"a100-sxm4-v12.xml", {{"power", 67.03}}},
      {"a10g.xml", {{"power", 25.58}}},
      {"gtx-1070-ti.xml", {{"power", -1}}},
      {"gtx-1660-ti.xml", {{"power", 8.93}}},
      {"quadro-p2000-v12.xml", {{"power", 4.61}}},
      {"quadro-p400.xml", {{"power", -1}}},
      {"rtx-3060-v12.xml", {{"power_instant", 11.63}, {"power_average", 11.60}}},
      {"rtx-3080-v12.xml", {{"power", 22.78}}},
      {"rtx-3080-v13.xml", {{"power_instant", 142.33}, {"power_average", 139.62}}},
      {"rtx-3090-v12.xml", {{"power", 27.23}}},
      {"rtx-4000-sff-ada-v13.xml", {{"power_instant", 8.44}, {"power_average", 8.81}}},
      {"tesla-t4.xml", {{"power", 26.78}}},
  };
  for (const Expected& expected : all) {
    // Two documents, the second a minute later where the first has a time.
    std::string later = file_text(folder + expected.file);
    if (const auto at = later.find("<timestamp>"); at != std::string::npos) later.replace(later.find("</timestamp>") - 4, 4, "2099");
    ImportOptions options;
    options.interval = seconds(60);
    const ImportedLog log = imported(file_text(folder + expected.file) + later, options);
    ASSERT_EQ(log.devices.size(), 1U) << expected.file;
    const LoggedDevice& gpu = log.devices[0];
    ASSERT_EQ(gpu.lines.size(), 2U) << expected.file;
    for (std::size_t i = 0; i < expected.watts.size(); ++i) {
      const auto& [name, watts] = expected.watts[i];
      EXPECT_EQ(gpu.channels.at(i).name, name) << expected.file;
      if (watts < 0)
        EXPECT_EQ(reason(gpu, 0, i), MissingReason::not_supported) << expected.file;
      else
        EXPECT_DOUBLE_EQ(si(gpu, 0, i), watts) << expected.file;
    }
    // One card's driver did not know its name: "Graphics Device".
    EXPECT_EQ(has_note(log, "sensor-unknown"), std::string_view(expected.file) == "gtx-1660-ti.xml") << expected.file;
  }
}

TEST(NvidiaSmiXml, OneDocumentIsAMomentWithoutEnergy) {
  const auto log = import_log(
      "<nvidia_smi_log><timestamp>Fri Apr 10 10:23:01 2026</timestamp><gpu id=\"0\"><product_name>Tesla T4</product_name>"
      "<power_readings><power_draw>26.78 W</power_draw></power_readings></gpu></nvidia_smi_log>",
      "", {});
  ASSERT_FALSE(log);
  EXPECT_EQ(log.error().code, ErrorCode::format);
}

TEST(NvidiaSmiXml, DamageIsAnErrorAndADocumentBeingWrittenIsLeftOut) {
  const std::string one =
      "<nvidia_smi_log><timestamp>Fri Apr 10 10:23:0X 2026</timestamp><gpu id=\"0\"><product_name>Tesla T4</product_name>"
      "<power_readings><power_draw>26.78 W</power_draw></power_readings></gpu></nvidia_smi_log>\n";
  std::string first = one, second = one;
  first.replace(first.find('X'), 1, "1");
  second.replace(second.find('X'), 1, "2");
  EXPECT_EQ(imported(first + second + first.substr(0, 90)).devices.at(0).lines.size(), 2U);
  EXPECT_FALSE(import_log("<nvidia_smi_log><gpu></nvidia_smi_log>", "", {}));
}

TEST(NvidiaSmiXml, TheModuleOfACardWithItsCpuIsShownApart) {
  const auto document = [](int second) {
    return "<nvidia_smi_log><timestamp>Fri Apr 10 10:23:0" + std::to_string(second) +
           " 2026</timestamp><gpu id=\"0\"><product_name>NVIDIA GH200 480GB</product_name><gpu_power_readings>"
           "<average_power_draw>350.00 W</average_power_draw></gpu_power_readings><module_power_readings>"
           "<average_power_draw>600.00 W</average_power_draw></module_power_readings></gpu></nvidia_smi_log>";
  };
  const ImportedLog log = imported(document(1) + document(2));
  const LoggedDevice& gpu = log.devices.at(0);
  ASSERT_EQ(gpu.channels.size(), 2U);
  EXPECT_EQ(gpu.channels[0].scope, Scope::component);
  EXPECT_DOUBLE_EQ(si(gpu, 0, 0), 350);
  EXPECT_EQ(gpu.channels[1].scope, Scope::platform);
  EXPECT_DOUBLE_EQ(si(gpu, 0, 1), 600);
}

TEST(GpuGeneration, NamesTellIt) {
  EXPECT_EQ(gpu_generation("NVIDIA A100-SXM4-40GB").cc_minor, 0);
  EXPECT_EQ(gpu_generation("NVIDIA A10G").architecture, 7U);
  EXPECT_EQ(gpu_generation("NVIDIA A10G").cc_minor, 6);
  EXPECT_EQ(gpu_generation("NVIDIA L40S").architecture, 8U);
  EXPECT_EQ(gpu_generation("NVIDIA RTX 4000 SFF Ada Generation").architecture, 8U);
  EXPECT_EQ(gpu_generation("NVIDIA GeForce GTX 1070 Ti").architecture, 4U);
  EXPECT_EQ(gpu_generation("NVIDIA GeForce GTX 1660 Ti").architecture, 6U);
  EXPECT_EQ(gpu_generation("Some other card").architecture, 0U);
  EXPECT_EQ(driver_major("535.104.05"), 535);
  EXPECT_EQ(driver_major("[N/A]"), 0);
}

TEST(PowerSensorAccuracy, HoldsEighteenOfNineteenCardsAtEveryLoad) {
  std::string text = file_text(JOULERY_SOURCE_DIR "/data/nvidia_power_gain.csv");
  std::string_view rest = text;
  int cards = 0, held = 0;
  while (!rest.empty()) {
    const std::string_view line = next_line(rest);
    if (line.starts_with('#') || line.starts_with("card")) continue;
    const auto comma = line.find(',');
    const double gradient = std::stod(std::string(line.substr(comma + 1))),
                 offset = std::stod(std::string(line.substr(line.find(',', comma + 1) + 1)));
    ++cards;
    bool all = true;
    for (double reading = 20; reading <= 500; reading += 10) {
      const double truth = (reading - offset) / (1 + gradient / 100);
      all = all && std::abs(truth - reading) <= uncalibrated_relative * reading + uncalibrated_watts;
    }
    held += all ? 1 : 0;
  }
  EXPECT_EQ(cards, 19);
  EXPECT_EQ(held, 18);
}

}  // namespace
}  // namespace joulery
