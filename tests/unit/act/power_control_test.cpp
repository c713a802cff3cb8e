#include "act/power_control.h"

#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/act/limit_tree.h"

namespace joulery {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const Component package("node/cpu/package-0"), card("node/gpu/amdgpu-0");

struct Tree : ::testing::Test {
  Tree() { tree.put_machine(); }
  LimitTree tree;
};

const PowerLimit& limit_of(const std::vector<PowerLimit>& limits, const std::string& address) {
  for (const PowerLimit& limit : limits)
    if (limit_address(limit.component, limit.name) == address) return limit;
  ADD_FAILURE() << "no limit " << address;
  static const PowerLimit none;
  return none;
}

TEST_F(Tree, IsListedWithWhatItTells) {
  const auto limits = tree.control().list();
  ASSERT_THAT(limits, SizeIs(3));
  const PowerLimit& lasting = limit_of(limits, "node/cpu/package-0:long_term");
  EXPECT_TRUE(lasting.usual && lasting.settable && lasting.in_force);
  EXPECT_EQ(lasting.now_uw, 125'000'000);
  EXPECT_EQ(lasting.most_uw, 125'000'000);
  EXPECT_EQ(lasting.least_uw, std::nullopt);
  EXPECT_EQ(lasting.window_us, 27'983'872);
  const PowerLimit& brief = limit_of(limits, "node/cpu/package-0:short_term");
  EXPECT_FALSE(brief.usual);
  EXPECT_EQ(brief.most_uw, std::nullopt) << "0 means that the driver does not know";
  const PowerLimit& cap = limit_of(limits, "node/gpu/amdgpu-0:power1_cap");
  EXPECT_EQ(cap.least_uw, 100'000'000);
  EXPECT_EQ(cap.standard_uw, 280'000'000);
}

TEST_F(Tree, GoesBackToTheValueBeforeAndNotToTheGreatest) {
  tree.put(std::string(LimitTree::card) + "power1_cap", "250000000");
  auto control = tree.control();
  auto journal = control.open_journal("test");
  ASSERT_TRUE(journal);
  const auto taken = control.set({card, "", 150'000'000}, *journal);
  ASSERT_TRUE(taken) << taken.error().line();
  EXPECT_EQ(taken->before_uw, 250'000'000);
  EXPECT_EQ(taken->took_uw, 150'000'000);
  EXPECT_EQ(tree.get(std::string(LimitTree::card) + "power1_cap"), "150000000");
  const auto undone = control.undo(*journal);
  ASSERT_THAT(undone, SizeIs(1));
  EXPECT_TRUE(undone[0].as_before && undone[0].settled);
  EXPECT_EQ(tree.get(std::string(LimitTree::card) + "power1_cap"), "250000000");
  EXPECT_THAT(undo_journals(tree.journals()), IsEmpty());
}

TEST_F(Tree, SwitchesALimitOnThatWasOffAndOffAgain) {
  const std::string enabled = std::string(LimitTree::package) + "enabled";
  tree.put(enabled, "0");
  auto control = tree.control();
  EXPECT_FALSE(limit_of(control.list(), "node/cpu/package-0:long_term").in_force);
  auto journal = control.open_journal("test");
  ASSERT_TRUE(control.set({package, "", 90'000'000}, *journal));
  EXPECT_EQ(tree.get(enabled), "1");
  control.undo(*journal);
  EXPECT_EQ(tree.get(enabled), "0");
  EXPECT_EQ(tree.long_term(), "125000000");
}

TEST_F(Tree, RefusesWhatIsOutOfRangeAndNamesTheRange) {
  auto control = tree.control();
  auto journal = control.open_journal("test");
  for (const std::int64_t asked : {99'999'999LL, 300'000'001LL}) {
    const auto taken = control.set({card, "", asked}, *journal);
    ASSERT_FALSE(taken);
    EXPECT_EQ(taken.error().code, ErrorCode::usage);
    EXPECT_THAT(taken.error().line(), HasSubstr("100 W to 300 W"));
  }
  // Of the short-term limit no range is known: nothing above what is in force, and no power that is none.
  EXPECT_FALSE(control.set({package, "short_term", 250'000'001}, *journal));
  EXPECT_FALSE(control.set({package, "short_term", 999'999}, *journal));
  EXPECT_TRUE(control.set({package, "short_term", 1'000'000}, *journal));
  control.undo(*journal);
}

TEST_F(Tree, KnowsNoOtherLimitAndSuggestsOne) {
  auto control = tree.control();
  auto journal = control.open_journal("test");
  const auto taken = control.set({Component("node/cpu/package-O"), "", 90'000'000}, *journal);
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().code, ErrorCode::not_found);
  EXPECT_THAT(taken.error().hint, HasSubstr("node/cpu/package-0"));
}

TEST_F(Tree, HoldsOthersOffByName) {
  auto control = tree.control(), other = tree.control();
  auto journal = control.open_journal("user ada, pid 17"), second = other.open_journal("user bob, pid 18");
  ASSERT_TRUE(control.set({package, "", 90'000'000}, *journal));
  const auto refused = other.set({package, "long_term", 80'000'000}, *second);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::busy);
  EXPECT_THAT(refused.error().line(), HasSubstr("user ada, pid 17"));
  EXPECT_EQ(limit_of(other.list(), "node/cpu/package-0:long_term").holder, "user ada, pid 17");
  EXPECT_TRUE(other.set({package, "short_term", 80'000'000}, *second)) << "another limit is free";
  control.undo(*journal);
  EXPECT_TRUE(other.set({package, "long_term", 80'000'000}, *second));
  other.undo(*second);
  EXPECT_EQ(tree.long_term(), "125000000");
}

TEST_F(Tree, LeavesAloneWhatSomebodyElseChanged) {
  auto control = tree.control();
  auto journal = control.open_journal("test");
  ASSERT_TRUE(control.set({package, "", 90'000'000}, *journal));
  tree.put(std::string(LimitTree::package) + "constraint_0_power_limit_uw", "70000000");
  const auto undone = control.undo(*journal);
  ASSERT_THAT(undone, SizeIs(1));
  EXPECT_TRUE(undone[0].settled);
  EXPECT_FALSE(undone[0].as_before);
  EXPECT_THAT(undone[0].text, HasSubstr("somebody else set it to 70 W"));
  EXPECT_EQ(tree.long_term(), "70000000");
  EXPECT_THAT(undo_journals(tree.journals()), IsEmpty());
}

TEST_F(Tree, ChangesOfOneHolderAreUndoneLastFirst) {
  auto control = tree.control();
  auto journal = control.open_journal("test");
  ASSERT_TRUE(control.set({package, "", 90'000'000}, *journal));
  ASSERT_TRUE(control.set({package, "", 80'000'000}, *journal));
  EXPECT_THAT(control.undo(*journal), SizeIs(2));
  EXPECT_EQ(tree.long_term(), "125000000");
}

// Runs `what` in a process that then dies as by kill -9.
template <class What>
void and_die(const What& what) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    what();
    ::kill(::getpid(), SIGKILL);
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status));
}

TEST_F(Tree, IsPutBackAfterItsHolderWasKilled) {
  and_die([&] {
    auto control = tree.control();
    auto journal = control.open_journal("test");
    (void)control.set({package, "", 90'000'000}, *journal);
  });
  EXPECT_EQ(tree.long_term(), "90000000") << "nobody looked after it yet";
  auto control = tree.control();
  const auto undone = control.recover();
  ASSERT_THAT(undone, SizeIs(1));
  EXPECT_TRUE(undone[0].as_before);
  EXPECT_EQ(tree.long_term(), "125000000");
  EXPECT_THAT(control.recover(), IsEmpty());
}

// A disk that has room for half a line: nothing is set, and the journal is whole when there is room again.
TEST_F(Tree, NothingIsSetThatCannotBeWrittenDown) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    auto control = tree.control();
    auto journal = control.open_journal("test");
    struct stat status{};
    ::fstat(journal->descriptor(), &status);
    rlimit files{};
    ::getrlimit(RLIMIT_FSIZE, &files);
    const rlimit full{static_cast<rlim_t>(status.st_size) + 30, files.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &full);
    const bool refused = !control.set({package, "", 90'000'000}, *journal) && tree.long_term() == "125000000";
    ::setrlimit(RLIMIT_FSIZE, &files);
    const bool set = control.set({package, "", 90'000'000}, *journal).has_value() && journal->read()->open.size() == 1;
    const bool back = control.undo(*journal).size() == 1 && tree.long_term() == "125000000";
    ::_exit(refused && set && back ? 0 : 1);
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  EXPECT_EQ(status, 0);
}

// The journal is ahead of the hardware: killed between the two, nothing was written, or it was and was not read back.
TEST_F(Tree, IsPutBackWhereItWasKilledBeforeItReadBack) {
  const std::string id = "rapl.powercap/intel-rapl:0/long_term";
  for (const bool written : {false, true}) {
    and_die([&] {
      auto journal = UndoJournal::make(tree.journals(), "test");
      (void)journal->add(id, "node/cpu/package-0", {125'000'000, true}, {90'000'000, true});
      if (written) tree.put(std::string(LimitTree::package) + "constraint_0_power_limit_uw", "90000000");
    });
    EXPECT_THAT(tree.control().recover(), SizeIs(1));
    EXPECT_EQ(tree.long_term(), "125000000");
    EXPECT_THAT(undo_journals(tree.journals()), IsEmpty());
  }
}

TEST_F(Tree, AHolderThatLivesIsLeftInPeace) {
  auto control = tree.control();
  auto journal = control.open_journal("test");
  ASSERT_TRUE(control.set({package, "", 90'000'000}, *journal));
  EXPECT_THAT(tree.control().recover(), IsEmpty());
  EXPECT_EQ(tree.long_term(), "90000000");
  control.undo(*journal);
}

TEST_F(Tree, WhatCannotBePutBackStaysInTheJournal) {
  and_die([&] {
    auto control = tree.control();
    auto journal = control.open_journal("test");
    (void)control.set({package, "", 90'000'000}, *journal);
    (void)control.set({card, "", 150'000'000}, *journal);
  });
  std::filesystem::rename(tree.root() + "/sys/class/powercap", tree.root() + "/gone");
  const auto first = tree.control().recover();
  ASSERT_THAT(first, SizeIs(2));
  EXPECT_TRUE(first[0].as_before) << "each by itself: " << first[0].text;
  EXPECT_FALSE(first[1].settled);
  EXPECT_THAT(first[1].text, HasSubstr("125 W"));
  std::filesystem::rename(tree.root() + "/gone", tree.root() + "/sys/class/powercap");
  const auto second = tree.control().recover();
  ASSERT_THAT(second, SizeIs(1)) << "what was put back is not touched again";
  EXPECT_TRUE(second[0].as_before);
  EXPECT_EQ(tree.long_term(), "125000000");
}

TEST_F(Tree, JournalsOfAnotherTreeAreNotTouched) {
  and_die([&] {
    auto control = tree.control();
    auto journal = control.open_journal("test");
    (void)control.set({package, "", 90'000'000}, *journal);
  });
  PowerControl other(find_power_knobs(Machine(tree.root()), KnobFile::Access::write), tree.journals(), "/another");
  EXPECT_THAT(other.recover(), IsEmpty());
  EXPECT_EQ(tree.long_term(), "90000000");
}

TEST_F(Tree, NothingIsOpenedForWritingWhereNobodyMaySet) {
  auto knobs = find_power_knobs(Machine(tree.root()), KnobFile::Access::read);
  for (const auto& knob : knobs) {
    ASSERT_TRUE(knob->obstacle());
    EXPECT_TRUE(knob->read());
    EXPECT_FALSE(knob->write({90'000'000, std::nullopt}));
  }
  EXPECT_EQ(tree.long_term(), "125000000");
}

TEST_F(Tree, WithoutTheRightToWriteItSaysWhoHasIt) {
  if (::geteuid() == 0) GTEST_SKIP() << "skipped: root may write everything";
  ::chmod((tree.root() + LimitTree::card + "power1_cap").c_str(), 0444);
  const PowerLimit cap = limit_of(tree.control().list(), "node/gpu/amdgpu-0:power1_cap");
  EXPECT_FALSE(cap.settable);
  EXPECT_THAT(cap.reason, HasSubstr("root alone"));
  EXPECT_THAT(cap.remedy, HasSubstr("agent.meters.control_power"));
}

// Hardware with a floor, as many processors have one below which they do not go; one that ignores what it is told; one that
// refuses.
class Stubborn final : public PowerKnob {
 public:
  enum class Manner { clamps, ignores, refuses };
  explicit Stubborn(Manner manner) : manner_(manner) {
    facts_.id = "stubborn";
    facts_.component = Component("node/cpu/package-0");
    facts_.usual = true;
  }
  const KnobFacts& facts() const override { return facts_; }
  Result<KnobState> read() override { return now_; }
  Result<void> write(const KnobState& state) override {
    if (manner_ == Manner::refuses) return fail(ErrorCode::permission, "locked");
    if (manner_ == Manner::clamps) now_.limit_uw = std::max<std::int64_t>(state.limit_uw, 60'000'000);
    return {};
  }
  std::optional<Error> obstacle() const override { return std::nullopt; }

 private:
  Manner manner_;
  KnobFacts facts_;
  KnobState now_{100'000'000, std::nullopt};
};

PowerControl stubborn(const LimitTree& tree, Stubborn::Manner manner) {
  PowerKnobs knobs;
  knobs.push_back(std::make_unique<Stubborn>(manner));
  return {std::move(knobs), tree.journals(), ""};
}

TEST_F(Tree, TellsWhatTheHardwareTook) {
  auto control = stubborn(tree, Stubborn::Manner::clamps);
  auto journal = control.open_journal("test");
  const auto taken = control.set({package, "", 20'000'000}, *journal);
  ASSERT_TRUE(taken);
  EXPECT_EQ(taken->asked_uw, 20'000'000);
  EXPECT_EQ(taken->took_uw, 60'000'000);
  EXPECT_TRUE(control.undo(*journal)[0].as_before);
}

TEST_F(Tree, WhatIsIgnoredOrRefusedIsAnErrorAndLeavesNothingToUndo) {
  for (const auto manner : {Stubborn::Manner::ignores, Stubborn::Manner::refuses}) {
    auto control = stubborn(tree, manner);
    auto journal = control.open_journal("test");
    const auto taken = control.set({package, "", 20'000'000}, *journal);
    ASSERT_FALSE(taken);
    EXPECT_EQ(taken.error().code, manner == Stubborn::Manner::ignores ? ErrorCode::unsupported : ErrorCode::permission);
    EXPECT_THAT(control.undo(*journal), IsEmpty());
  }
}

TEST(LimitRequests, AreReadAsPeopleWriteThem) {
  const auto requests = parse_limit_requests("node/gpu/0=250W,node/cpu/package-0:short_term=87.5 W");
  ASSERT_TRUE(requests) << requests.error().line();
  ASSERT_THAT(*requests, SizeIs(2));
  EXPECT_EQ((*requests)[0], (LimitRequest{Component("node/gpu/0"), "", 250'000'000}));
  EXPECT_EQ((*requests)[1], (LimitRequest{Component("node/cpu/package-0"), "short_term", 87'500'000}));
}

TEST(LimitRequests, RefuseEverythingElse) {
  for (const char* text :
       {"", "250W", "=250W", "node/gpu/0", "node/gpu/0=", "node/gpu/0=250", "node/gpu/0=250J", "node/gpu/0=0W", "node/gpu/0=-1W",
        "node/gpu/0:=1W", "node/gpu/0=1W,", ",node/gpu/0=1W", "node/gpu/0=1W,node/gpu/0=2W", "node/gpu/0=9999999W"}) {
    const auto requests = parse_limit_requests(text);
    EXPECT_FALSE(requests) << text;
    if (requests) continue;
    EXPECT_EQ(requests.error().code, ErrorCode::usage) << text;
  }
}

}  // namespace
}  // namespace joulery
