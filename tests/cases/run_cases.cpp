// Registers every case of tests/cases/*.case as a test of its own.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cctype>
#include <filesystem>

#include "case_language.h"

namespace joulery::cases {
namespace {

class CaseTest : public testing::Test {
 public:
  explicit CaseTest(Case told) : case_(std::move(told)) {}
  void TestBody() override {
    for (const std::string& failure : failures_of(case_)) ADD_FAILURE() << failure;
  }

 private:
  Case case_;
};

// A test that expects nothing proves nothing.
class HasExpectation : public testing::Test {
 public:
  explicit HasExpectation(Case told) : case_(std::move(told)) {}
  void TestBody() override {
    EXPECT_TRUE(std::ranges::any_of(case_.lines, [](const Line& line) { return line.words[0] == "expect"; })) << case_.name;
  }

 private:
  Case case_;
};

std::string identifier(std::string text) {
  for (char& c : text)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return text;
}

int register_all() {
  int count = 0;
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(JOULERY_SOURCE_DIR "/tests/cases"))
    if (entry.path().extension() == ".case") files.push_back(entry.path());
  std::ranges::sort(files);
  for (const auto& file : files)
    for (const Case& told : read_cases(file.string())) {
      const std::string suite = "Case_" + identifier(file.stem().string());
      const bool judged = std::ranges::any_of(told.lines, [](const Line& line) { return line.words[0] == "expect"; });
      testing::RegisterTest(suite.c_str(), identifier(told.name).c_str(), nullptr, nullptr, told.file.c_str(), told.line,
                            [told, judged]() -> testing::Test* {
                              if (!judged) return new HasExpectation(told);
                              return new CaseTest(told);
                            });
      ++count;
    }
  return count;
}

}  // namespace
}  // namespace joulery::cases

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (joulery::cases::register_all() == 0) return fmt::print(stderr, "no cases found\n"), 1;
  return RUN_ALL_TESTS();
}
