#include "watch/tag_rules.h"

#include <gtest/gtest.h>

#include "tests/unit/watch/machine_tree.h"

namespace joulery {
namespace {

using namespace std::string_literals;

Settings settings_of(const std::map<std::string, std::string>& texts) {
  Settings settings;
  for (const auto& [key, text] : texts) settings.set(key, {text, {"joulery.toml", 7}});
  return settings;
}

TEST(TagRules, AreReadInTheOrderOfTheirNames) {
  const auto rules = read_tag_rules(settings_of({{"tags.team.env", "TEAM"},
                                                 {"tags.team.user", "lab-*"},
                                                 {"tags.b-train.tag", "team"},
                                                 {"tags.b-train.value", "vision"},
                                                 {"tags.b-train.unit", "train-*.service"},
                                                 {"tags.b-train.process", "python*"},
                                                 {"tags.b-train.cgroup", "/slurm/*"}}));
  ASSERT_TRUE(rules);
  ASSERT_EQ(rules->size(), 2U);
  EXPECT_EQ((*rules)[0].tags, (Tags{{"team", "vision"}}));
  EXPECT_EQ((*rules)[0].unit, "train-*.service");
  EXPECT_EQ((*rules)[0].name, "python*");
  EXPECT_EQ((*rules)[0].cgroup, "/slurm/*");
  EXPECT_EQ((*rules)[0].variable, "");
  EXPECT_EQ((*rules)[1].tags, (Tags{{"team", ""}}));
  EXPECT_EQ((*rules)[1].variable, "TEAM");
  EXPECT_EQ((*rules)[1].user, "lab-*");
  EXPECT_TRUE(read_tag_rules(Settings())->empty());
}

TEST(TagRules, AreRefusedWhereTheyAreNotWhole) {
  for (const auto& [key, value, named] : std::vector<std::array<std::string, 3>>{{"tags.team.user", "ada", "tags.team"},
                                                                                 {"tags.b-train.value", "x", "b-train"},
                                                                                 {"tags.user.value", "root", "user"},
                                                                                 {"tags.team.tag", "1st", "1st"}}) {
    const auto rules = read_tag_rules(settings_of({{key, value}}));
    ASSERT_FALSE(rules) << key;
    EXPECT_EQ(rules.error().code, ErrorCode::usage);
    EXPECT_NE(rules.error().line().find(named), std::string::npos) << rules.error().line();
  }
  const auto both = read_tag_rules(settings_of({{"tags.team.value", "a"}, {"tags.team.env", "TEAM"}}));
  ASSERT_FALSE(both);
  EXPECT_NE(both.error().line().find("joulery.toml:7"), std::string::npos) << both.error().line();
}

CpuUse use_of(int pid, int parent = 1, bool ended = false) { return {{pid, 100}, parent, 0, "work", 0, milliseconds(1), ended}; }

TEST(TagRules, AVariableOfTheProcessSaysTheValue) {
  const MachineTree tree;
  for (const int pid : {10, 11, 12}) tree.put({pid, 100, 0});
  tree.write("proc/10/environ", "TEAMS=no\0TEAM= vision \0JOULERY_TAGS=team=mine,exp=7,user=root"s);
  tree.write("proc/11/environ", "TEAM=\0JOULERY_TAGS=team=mine"s);
  tree.write("proc/12/environ", ""s);
  Workloads workloads(tree.root(), *read_tag_rules(settings_of({{"tags.team.env", "TEAM"}})));
  EXPECT_EQ(workloads.of(use_of(10)).tags, (Tags{{"team", "vision"}, {"exp", "7"}}));
  EXPECT_EQ(workloads.of(use_of(11)).tags, (Tags{{"team", "mine"}}));
  EXPECT_EQ(workloads.of(use_of(12)).tags, Tags{});
  // A child that ended before anybody looked at it is its parent's.
  EXPECT_EQ(workloads.of(use_of(20, 10, true)).tags.at("team"), "vision");
}

}  // namespace
}  // namespace joulery
