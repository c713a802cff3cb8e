#include "act/undo_journal.h"

#include <gmock/gmock.h>

#include <string>

#include "tests/unit/act/limit_tree.h"

namespace joulery {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

const std::string head = R"({"schema":"joulery.undo/1","boot":"b","holder":"user ada, pid 17","root":""})"
                         "\n";
const std::string change = R"({"change":1,"knob":"k","at":"node/gpu/0","before":{"limit_uw":700000000},"asked":{"limit_uw":250000000}})"
                           "\n";

TEST(UndoJournal, HoldsWhatIsToBeUndone) {
  const LimitTree tree;
  auto journal = UndoJournal::make(tree.journals(), "user ada, pid 17");
  ASSERT_TRUE(journal) << journal.error().line();
  const auto number = journal->add("k", "node/gpu/0", {700'000'000, std::nullopt}, {250'000'000, true});
  ASSERT_TRUE(number);
  ASSERT_TRUE(journal->took(*number, {250'000'000, true}));
  const auto text = journal->read();
  ASSERT_TRUE(text);
  EXPECT_EQ(text->holder, "user ada, pid 17");
  EXPECT_EQ(text->boot, boot_id());
  ASSERT_THAT(text->open, SizeIs(1));
  EXPECT_EQ(text->open[0].before, (KnobState{700'000'000, std::nullopt}));
  EXPECT_EQ(text->open[0].asked, (KnobState{250'000'000, true}));
  EXPECT_EQ(text->open[0].took, (KnobState{250'000'000, true}));
  ASSERT_TRUE(journal->done(*number));
  EXPECT_THAT(journal->read()->open, IsEmpty());
}

TEST(UndoJournal, BelongsToOneAtATime) {
  const LimitTree tree;
  std::string path;
  {
    auto journal = UndoJournal::make(tree.journals(), "test");
    path = journal->path();
    const auto taken = UndoJournal::take(path);
    ASSERT_TRUE(taken);
    EXPECT_FALSE(*taken) << "somebody holds it";
  }
  const auto taken = UndoJournal::take(path);
  ASSERT_TRUE(taken);
  EXPECT_TRUE(*taken);
}

TEST(UndoText, ALineThatWasTornOffWasNeverActedUpon) {
  const UndoText whole = parse_undo(head + change);
  ASSERT_THAT(whole.open, SizeIs(1));
  for (std::size_t cut = 0; cut < change.size(); ++cut) EXPECT_THAT(parse_undo(head + change.substr(0, cut)).open, IsEmpty());
}

TEST(UndoText, TakesNothingForMoreThanItIs) {
  EXPECT_FALSE(parse_undo("").known);
  EXPECT_FALSE(parse_undo("{}\n").known);
  EXPECT_FALSE(parse_undo("\xff\xff\n").known);
  EXPECT_FALSE(parse_undo(R"({"schema":"joulery.undo/2"})"
                          "\n" +
                          change)
                   .known);
  for (const char* line :
       {"[]", "{}", "null", R"({"change":0})", R"({"change":-1,"knob":"k"})", R"({"change":1,"knob":"k"})",
        R"({"change":1,"knob":"","at":"","before":{"limit_uw":1},"asked":{"limit_uw":1}})",
        R"({"change":1,"knob":"k","at":"","before":{"limit_uw":-1},"asked":{"limit_uw":1}})",
        R"({"change":1,"knob":"k","at":"","before":{"limit_uw":1e99},"asked":{"limit_uw":1}})",
        R"({"change":1,"knob":"k","at":"","before":{"limit_uw":1,"enabled":2},"asked":{"limit_uw":1}})", R"({"took":7})", R"({"done":9})"})
    EXPECT_THAT(parse_undo(head + line + "\n").open, IsEmpty()) << line;
  EXPECT_THAT(parse_undo(head + "rubbish\n" + change).open, SizeIs(1)) << "one bad line does not cost the next";
  EXPECT_THAT(parse_undo(head + change + change).open, SizeIs(1));
}

TEST(UndoJournal, OfAnEarlierStartOfTheMachineIsOnlyTold) {
  const LimitTree tree;
  tree.put_machine();
  std::filesystem::create_directories(tree.journals());
  std::ofstream(tree.journals() + "/1-1.undo")
      << head << R"({"change":1,"knob":"rapl.powercap/intel-rapl:0/long_term","at":"node/cpu/package-0","before":{"limit_uw":1000000},)"
      << R"("asked":{"limit_uw":125000000}})"
      << "\n"
      << R"({"took":1,"state":{"limit_uw":125000000,"enabled":true}})"
      << "\n";
  const auto undone = tree.control().recover();
  ASSERT_THAT(undone, SizeIs(1));
  EXPECT_TRUE(undone[0].settled);
  EXPECT_EQ(tree.long_term(), "125000000");
  EXPECT_THAT(undo_journals(tree.journals()), IsEmpty());
}

TEST(UndoJournal, ThatIsNotUnderstoodIsKeptAndTold) {
  const LimitTree tree;
  tree.put_machine();
  std::filesystem::create_directories(tree.journals());
  std::ofstream(tree.journals() + "/1-1.undo") << "what is this\n";
  const auto undone = tree.control().recover();
  ASSERT_THAT(undone, SizeIs(1));
  EXPECT_FALSE(undone[0].settled);
  EXPECT_THAT(undo_journals(tree.journals()), SizeIs(1));
}

}  // namespace
}  // namespace joulery
