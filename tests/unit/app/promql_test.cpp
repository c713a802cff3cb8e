#include "app/promql.h"

#include <gtest/gtest.h>

namespace joulery {
namespace {

TEST(PromAnswer, AnInstantVectorAndARangeAreRead) {
  const auto vector = parse_prom_answer(R"({"status":"success","data":{"resultType":"vector","result":[
    {"metric":{"__name__":"m","instance":"n1"},"value":[1700000000.123,"12.345678"]},
    {"metric":{"instance":"n2"},"value":[1700000000,"NaN"]}]}})");
  ASSERT_TRUE(vector) << vector.error().line();
  ASSERT_EQ(vector->size(), 1u);  // what is not finite is no value
  EXPECT_EQ(vector->at(0).labels, (SeriesLabels{{"instance", "n1"}}));
  EXPECT_EQ(vector->at(0).samples.at(0).ms, 1700000000123);
  EXPECT_EQ(vector->at(0).samples.at(0).value, 12.345678);
  const auto matrix = parse_prom_answer(R"({"status":"success","data":{"resultType":"matrix","result":[
    {"metric":{},"values":[[1,"1"],[2.5,"2e3"]]}]}})");
  ASSERT_TRUE(matrix);
  EXPECT_EQ(matrix->at(0).samples.at(1).value, 2000);
  EXPECT_EQ(matrix->at(0).samples.at(1).ms, 2500);
}

TEST(PromAnswer, WhatTheEngineSaysIsTold) {
  const auto refused = parse_prom_answer(R"({"status":"error","errorType":"bad_data","error":"parse error: \u001b[31m"})");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::usage);
  EXPECT_EQ(refused.error().what, "parse error: \\x1b[31m");
  for (const auto* silent :
       {R"({"status":"error"})", R"({"status":"error","error":""})", R"({"status":"error","error":" \n"})", R"({"status":3})"})
    EXPECT_EQ(parse_prom_answer(silent).error().what, "the engine refuses the question and does not say why") << silent;
  for (const auto* other : {"", "<html>", "[]", "{}", R"({"status":"success"})", R"({"status":"success","data":{"result":[3]}})",
                            R"({"status":"success","data":{"result":[{"metric":{"a":1},"value":[1,"1"]}]}})"}) {
    const auto answer = parse_prom_answer(other);
    ASSERT_FALSE(answer) << other;
    EXPECT_EQ(answer.error().code, ErrorCode::format) << other;
  }
}

TEST(PromQl, TextsAreQuoted) {
  EXPECT_EQ(promql_quoted("a\"b\\c\nd"), R"("a\"b\\c\nd")");
  EXPECT_EQ(promql_duration(seconds(90)), "90000ms");
}

}  // namespace
}  // namespace joulery
