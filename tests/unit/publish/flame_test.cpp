// A flame graph's tree, and how it is told.
#include "publish/flame.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "publish/flame_picture.h"

namespace joulery {
namespace {

void add(Flame& flame, std::vector<std::string> names, Energy energy, double weight) {
  std::vector<FlamePart> parts;
  for (const std::string& name : names) parts.push_back({name, FrameKind::native});
  flame.add(parts, energy, weight);
}

Flame sample() {
  Flame flame;
  flame.title = "prog <x> & \"y\"", flame.unit = "samples", flame.has_energy = true;
  add(flame, {"main", "hot;loop"}, microjoules(3'000'001), 30);
  add(flame, {"main", "cold"}, microjoules(1'000'000), 10);
  add(flame, {"main"}, microjoules(500'000), 5);
  add(flame, {"main", "fib", "fib", "fib"}, microjoules(200'000), 2);
  return flame;
}

TEST(Flame, SumsToTheMicrojoule) {
  const Flame flame = sample();
  EXPECT_EQ(flame.root.energy, microjoules(4'700'001));
  const FlameFrame& main = flame.root.children.at("main");
  Energy sum = main.self;
  for (const auto& [name, child] : main.children) sum += child.energy;
  EXPECT_EQ(sum, flame.root.energy);
}

TEST(Flame, AFunctionThatCallsItselfCountsOnce) {
  const auto functions = sample().functions();
  EXPECT_EQ(functions.front().name, "hot;loop");
  const auto fib = std::ranges::find_if(functions, [](const FlameFunction& f) { return f.name == "fib"; });
  ASSERT_NE(fib, functions.end());
  EXPECT_EQ(fib->energy, microjoules(200'000));
  EXPECT_EQ(fib->self, microjoules(200'000));
  EXPECT_EQ(fib->weight, 2);
}

TEST(Flame, AnEndlessStackEnds) {
  Flame flame;
  flame.has_energy = true;
  add(flame, std::vector<std::string>(100'000, "again"), joules(1), 1);
  EXPECT_NE(flame_folded(flame).find("(deeper) 1000000\n"), std::string::npos);
  EXPECT_EQ(flame.functions().size(), 2U);
}

TEST(Flame, FoldedStacks) {
  EXPECT_EQ(flame_folded(sample()), "main 500000\nmain;cold 1000000\nmain;fib;fib;fib 200000\nmain;hot:loop 3000001\n");
  Flame times;
  times.unit = "s";
  add(times, {"a"}, {}, 0.25);
  EXPECT_EQ(flame_folded(times), "a 250000\n");
}

TEST(Flame, Text) {
  const std::string text = flame_text(sample(), {false, false, 100}, 2);
  EXPECT_NE(text.find("hot;loop"), std::string::npos) << text;
  EXPECT_NE(text.find("63.8 %"), std::string::npos) << text;  // 3.000001 of 4.700001
  EXPECT_NE(text.find("2 more"), std::string::npos) << text;
}

TEST(Flame, Json) {
  const auto json = nlohmann::json::parse(flame_json(sample()));
  EXPECT_EQ(json["schema"], "joulery.flame/1");
  EXPECT_EQ(json["joules"].get<double>(), 4.700001);
  EXPECT_EQ(json["root"]["children"][0]["name"], "main");
  EXPECT_EQ(json["functions"][0]["self_joules"].get<double>(), 3.000001);
}

TEST(Flame, PicturesStandAloneAndHarmNobody) {
  Flame flame = sample();
  add(flame, {"<script>alert(1)</script>", "a\"b'c]]>"}, joules(1), 10);
  for (const std::string& page : {flame_svg(flame), flame_html(flame)}) {
    EXPECT_EQ(page.find("<script>alert"), std::string::npos);
    EXPECT_EQ(page.find("src="), std::string::npos);
    EXPECT_EQ(page.find("href="), std::string::npos);
    EXPECT_EQ(page.find("url("), std::string::npos);
    EXPECT_NE(page.find("&lt;script&gt;alert(1)"), std::string::npos);
    EXPECT_NE(page.find("hot;loop"), std::string::npos);
  }
  EXPECT_NE(flame_html(flame).find("<table "), std::string::npos);
  EXPECT_NE(flame_html(Flame{}).find("<svg"), std::string::npos);
}

}  // namespace
}  // namespace joulery
