#include "factors/wall_model.h"

#include <gtest/gtest.h>

#include <cmath>

namespace joulery {
namespace {

WallModel sample() {
  WallModel model;
  model.kind = {
      "Intel(R) Xeon(R) \"Gold\" 6338", 2, "Dell Inc. PowerEdge R750", {"10de:20b0", "10de:20b0"}, {{"node/cpu", 2}, {"node/gpu", 2}}};
  model.coefficients = {35.123456789012345, 1.0869565217391304, 1.2345e-7};
  model.covariance = {{{0.25, -1e-3, 0}, {-1e-3, 1.0 / 3 * 1e-5, 0}, {0, 0, 1e-300}}};
  model.stretch_error = 0.0123;
  model.mean_error = 0.004;
  model.meter_error = 0.01;
  model.least = watts(50);
  model.most = watts(210.5);
  model.values = 180;
  model.window = milliseconds(1000);
  model.source = "r\xc3\xbcn.joulery, plug";
  return model;
}

TEST(WallModel, IsReadBackAsItWasWritten) {
  WallModel model = sample();
  model.source = "Z\xc3\xa4hler ~1";
  model.kind.cpu = "\xc9 no UTF-8";
  model.kind.inputs["node/\xd1\x9e"] = 2;
  model.covariance[0][0] = 0.5;  // below 1
  const auto read = parse_wall_model(wall_model_text(model), "here");
  ASSERT_TRUE(read) << read.error().line();
  EXPECT_EQ(read->kind, model.kind);
  EXPECT_EQ(read->coefficients, model.coefficients);
  EXPECT_EQ(read->covariance, model.covariance);
  EXPECT_EQ(read->source, model.source);
  EXPECT_EQ(read->window, model.window);
  EXPECT_EQ(read->least, model.least);
  EXPECT_EQ(read->most, model.most);
  EXPECT_EQ(read->values, model.values);
  EXPECT_EQ(read->stretch_error, model.stretch_error);
}

// By hand at 100 W: variance = 0.25 - 2·100·1e-3 + 1e4·(1e-5 / 3) = 0.0833..., value = 35.12 + 108.70 = 143.82.
TEST(WallModel, ItsIntervalHoldsLineStretchAndMeter) {
  WallModel model = sample();
  model.coefficients[2] = 0;
  const double value = to_watts(model.at(watts(100)));
  EXPECT_NEAR(value, 35.123456789 + 108.69565217, 1e-6);
  const double line = 1.645 * std::sqrt(0.25 - 0.2 + 1.0 / 30), stretch = 1.645 * 0.0123 * value, meter = 0.01 * value;
  EXPECT_NEAR(to_watts(model.half_interval(watts(100))), std::sqrt(line * line + stretch * stretch + meter * meter), 1e-6);
}

TEST(WallModel, HoldsForItsOwnKindAlone) {
  const WallKind learnt = sample().kind;
  EXPECT_EQ(kind_difference(learnt, learnt), "");
  WallKind here = learnt;
  here.board = "";
  EXPECT_EQ(kind_difference(learnt, here), "learnt on another kind of machine: board Dell Inc. PowerEdge R750 there, not told here");
  here = learnt;
  here.cpu = "Other";
  EXPECT_NE(kind_difference(learnt, here).find("processor"), std::string::npos);
  here = learnt;
  here.accelerators.pop_back();
  EXPECT_NE(kind_difference(learnt, here).find("accelerators 10de:20b0 10de:20b0 there, 10de:20b0 here"), std::string::npos);
  here = learnt;
  here.inputs = {{"node/cpu", 2}};
  EXPECT_NE(kind_difference(learnt, here).find("2 node/cpu, 2 node/gpu there, 2 node/cpu here"), std::string::npos);
}

TEST(WallModel, RefusesWhatIsDamaged) {
  const std::string good = wall_model_text(sample());
  const auto broken = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return parse_wall_model(text.replace(at, from.size(), to), "file.toml");
  };
  EXPECT_FALSE(parse_wall_model("", "file.toml"));
  EXPECT_FALSE(broken("slope", "slop"));
  EXPECT_FALSE(broken("stretch_error = 0.0123", "stretch_error = nan"));
  EXPECT_FALSE(broken("least_watts = 50.0", "least_watts = 5000.0"));
  EXPECT_FALSE(broken("[", "{"));
  EXPECT_NE(broken("slope", "slop").error().where.find("file.toml"), std::string::npos);
  EXPECT_EQ(read_wall_model("/nonexistent/wall_model.toml").error().code, ErrorCode::not_found);
}

}  // namespace
}  // namespace joulery
