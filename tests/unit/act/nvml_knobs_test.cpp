#include "act/nvml_knobs.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <cstdio>

#include "act/power_control.h"
#include "tests/unit/sense/nvml_fixture.h"

namespace joulery {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

class NvmlKnobs : public testing::NvmlFixture {
 protected:
  // Knobs last no longer than the library that they were made with.
  ~NvmlKnobs() override {
    control.reset();
    journal.reset();
  }
  void make(const std::string& script) {
    load(script);
    PowerKnobs knobs;
    add_nvml_knobs(tree.machine(), KnobFile::Access::write, knobs);
    may_set = !knobs.empty() && !knobs[0]->obstacle();
    control = std::make_unique<PowerControl>(std::move(knobs), tree.root() + "/journals", "");
    auto made = control->open_journal("test");
    ASSERT_TRUE(made) << made.error().line();
    journal.emplace(*std::move(made));
  }
  Result<LimitTaken> set(std::int64_t watts) { return control->set({Component("node/gpu/0"), "", watts * 1'000'000}, *journal); }

  std::unique_ptr<PowerControl> control;
  std::optional<UndoJournal> journal;
  bool may_set = false;
};

TEST_F(NvmlKnobs, TellRangeDefaultAndWhatIsEnforced) {
  make("gpu 0 limit 200 700 650 500\ngpu 1 limit 100 350\n");
  const auto limits = control->list();
  ASSERT_THAT(limits, SizeIs(2));
  EXPECT_EQ(limits[0].component.path(), "node/gpu/0");
  EXPECT_TRUE(limits[0].usual);
  EXPECT_EQ(limits[0].now_uw, 650'000'000);
  EXPECT_EQ(limits[0].least_uw, 200'000'000);
  EXPECT_EQ(limits[0].most_uw, 700'000'000);
  EXPECT_EQ(limits[0].standard_uw, 650'000'000);
  EXPECT_EQ(limits[0].enforced_uw, 500'000'000) << "a management controller holds it lower";
  EXPECT_EQ(limits[1].component.path(), "node/gpu/1");
}

TEST_F(NvmlKnobs, AreSetAndGoBackToWhatTheyWere) {
  make("gpu 0 limit 200 700\n");
  if (!may_set) GTEST_SKIP() << "skipped: needs root";
  // The host's own policy is not the driver's default: it is what must come back.
  tree.file("/script.limit.0", "600000\n");
  const auto taken = set(250);
  ASSERT_TRUE(taken) << taken.error().line();
  EXPECT_EQ(taken->before_uw, 600'000'000);
  EXPECT_EQ(taken->took_uw, 250'000'000);
  EXPECT_EQ(taken->enforced_uw, 250'000'000);
  EXPECT_EQ(control->list()[0].now_uw, 250'000'000);
  ASSERT_THAT(control->undo(*journal), SizeIs(1));
  EXPECT_EQ(control->list()[0].now_uw, 600'000'000);
}

TEST_F(NvmlKnobs, RefuseWhatTheDriverWouldRefuse) {
  make("gpu 0 limit 200 700\n");
  if (!may_set) GTEST_SKIP() << "skipped: needs root";
  for (const std::int64_t watts : {199, 701}) {
    const auto taken = set(watts);
    ASSERT_FALSE(taken);
    EXPECT_THAT(taken.error().line(), HasSubstr("200 W to 700 W"));
  }
}

TEST_F(NvmlKnobs, ALaptopsGpuThatRefusesIsSaidToBeOne) {
  make("gpu 0 limit 200 700\ngpu 0 return nvmlDeviceSetPowerManagementLimit 3\n");
  if (!may_set) GTEST_SKIP() << "skipped: needs root";
  const auto taken = set(250);
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().code, ErrorCode::unsupported);
  EXPECT_THAT(taken.error().line(), HasSubstr("does not let its power limit be set"));
}

TEST_F(NvmlKnobs, ADriverWithoutPermissionNamesRoot) {
  make("gpu 0 limit 200 700\ngpu 0 return nvmlDeviceSetPowerManagementLimit 4\n");
  const auto taken = set(250);
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().code, ErrorCode::permission);
  EXPECT_THAT(taken.error().line(), HasSubstr("root alone"));
}

TEST_F(NvmlKnobs, APartitionedGpuHasNoLimitForASlice) {
  make("gpu 0 limit 200 700\ngpu 0 mig 3 0 MIG-11111111-aaaa 20096 512\n");
  const auto limits = control->list();
  ASSERT_THAT(limits, SizeIs(1));
  EXPECT_EQ(limits[0].now_uw, 700'000'000);
  EXPECT_FALSE(limits[0].settable);
  EXPECT_THAT(limits[0].reason, HasSubstr("MIG"));
  EXPECT_FALSE(set(250));
}

TEST_F(NvmlKnobs, AGpuThatTellsNoLimitHasNone) {
  make("gpu 0 watts 0 100\ngpu 0 return nvmlDeviceGetPowerManagementLimit 3\n");
  EXPECT_THAT(control->list(), SizeIs(0));
}

}  // namespace
}  // namespace joulery
