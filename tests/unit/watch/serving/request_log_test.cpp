// Request logs and spans: what is read, what is left out, and why.
#include "watch/serving/request_log.h"

#include <gtest/gtest.h>

#include "watch/serving/otlp_spans.h"

namespace joulery {
namespace {

TEST(RequestLog, ReadsALineARequest) {
  const RequestLog log = parse_request_log(
      R"({"id":"a","model":"m","group":"/v1/completions","start":1700000000.25,"scheduled":1700000000.5,"first_token":1700000001,"end":1700000002.125,"tokens_in":100,"tokens_out":20,"tokens_cached":64})"
      "\n\n"
      R"({"start":1700000000250,"end":1700000002125000000})"
      "\n");
  ASSERT_EQ(log.requests.size(), 2U);
  EXPECT_EQ(log.bad_lines, 0U);
  const ServedRequest& r = log.requests[0];
  EXPECT_EQ(r.id, "a");
  EXPECT_EQ(r.group, "/v1/completions");
  EXPECT_EQ(r.start.ns, 1'700'000'000'250'000'000);
  EXPECT_EQ(r.scheduled->ns, 1'700'000'000'500'000'000);
  EXPECT_EQ(r.first_token->ns, 1'700'000'001'000'000'000);
  EXPECT_EQ(r.end.ns, 1'700'000'002'125'000'000);
  EXPECT_EQ(r.tokens_in, 36.0);  // 64 came from the cache
  EXPECT_EQ(r.tokens_out, 20.0);
  // Milliseconds and nanoseconds, told apart by their size; nothing else is said.
  EXPECT_EQ(log.requests[1].start.ns, 1'700'000'000'250'000'000);
  EXPECT_EQ(log.requests[1].end.ns, 1'700'000'002'125'000'000);
  EXPECT_FALSE(log.requests[1].tokens_in || log.requests[1].tokens_out || log.requests[1].first_token);
}

TEST(RequestLog, OddLinesCostNoOthers) {
  const RequestLog log = parse_request_log(
      "{\"start\":1,\"end\":2}\nrubbish\n[1]\n{\"start\":1}\n{\"start\":3,\"end\":2}\n{\"start\":-1,\"end\":2}\n"
      "{\"start\":1,\"end\":2,\"tokens_in\":-5,\"tokens_out\":\"7\"}\n{\"start\":1e400,\"end\":2}");
  ASSERT_EQ(log.requests.size(), 2U);
  EXPECT_EQ(log.bad_lines, 6U);
  EXPECT_EQ(log.first_trouble, "line 2: no JSON object");
  EXPECT_FALSE(log.requests[1].tokens_in || log.requests[1].tokens_out);  // no counts: missing, never 0
}

TEST(ForEachLine, HandsOverWhatIsNeitherBlankNorTooLong) {
  const std::string fits(2 << 20, 'a'), longer(fits.size() + 1, 'b');
  std::vector<std::string> taken;
  RequestLog log;
  for_each_line("one\n\n \t\r\n" + longer + "\ntwo\r\n" + fits + "\nodd\nlast", fits.size(), log,
                [&](std::string_view line) -> std::string_view {
                  taken.emplace_back(line);
                  return line == "odd" ? "odd" : "";
                });
  EXPECT_EQ(taken, (std::vector<std::string>{"one", "two\r", fits, "odd", "last"}));
  EXPECT_EQ(log.bad_lines, 2U);
  EXPECT_EQ(log.first_trouble, "line 4: longer than 2 MiB");
}

TEST(RequestLog, ALineThatIsTooLongCostsNoOthers) {
  const std::string good = R"({"start":1,"end":2})",
                    longer = R"({"start":1,"end":2,"id":")" + std::string(most_request_line_bytes, 'x') + R"("})";
  const RequestLog log = parse_request_log(good + "\n" + longer + "\n" + good);
  EXPECT_EQ(log.requests.size(), 2U);
  EXPECT_EQ(log.bad_lines, 1U);
  EXPECT_EQ(log.first_trouble, "line 2: longer than 1 MiB");
}

// As vLLM's `llm_request` spans come out of a collector's file exporter.
constexpr const char* spans = R"({"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"vllm"}}]},
 "scopeSpans":[{"scope":{"name":"vllm.llm_engine"},"spans":[
  {"name":"llm_request","kind":2,"startTimeUnixNano":"1700000000000000000","endTimeUnixNano":"1700000002000000000","attributes":[
   {"key":"gen_ai.response.model","value":{"stringValue":"tiny"}},{"key":"gen_ai.request.id","value":{"stringValue":"req-7"}},
   {"key":"gen_ai.usage.prompt_tokens","value":{"intValue":"512"}},{"key":"gen_ai.usage.completion_tokens","value":{"intValue":"128"}},
   {"key":"gen_ai.latency.time_in_queue","value":{"doubleValue":0.25}},{"key":"gen_ai.latency.time_to_first_token","value":{"doubleValue":0.5}}]},
  {"name":"GET /health","startTimeUnixNano":"1700000000000000000","endTimeUnixNano":"1700000000100000000","attributes":[]}]}]}]})";

TEST(OtlpSpans, ASpanWithTokensIsARequest) {
  ASSERT_TRUE(looks_like_otlp(spans));
  const RequestLog log = parse_otlp_spans(spans);
  ASSERT_EQ(log.requests.size(), 1U);
  const ServedRequest& r = log.requests[0];
  EXPECT_EQ(r.id, "req-7");
  EXPECT_EQ(r.model, "tiny");
  EXPECT_EQ(r.start.ns, 1'700'000'000'000'000'000);
  EXPECT_EQ(r.scheduled->ns, 1'700'000'000'250'000'000);
  EXPECT_EQ(r.first_token->ns, 1'700'000'000'500'000'000);
  EXPECT_EQ(r.end.ns, 1'700'000'002'000'000'000);
  EXPECT_EQ(r.tokens_in, 512.0);
  EXPECT_EQ(r.tokens_out, 128.0);
}

TEST(OtlpSpans, ADocumentALine) {
  std::string one = spans;
  std::erase(one, '\n');
  const RequestLog log = parse_otlp_spans(one + "\n" + one + "\nrubbish\n");
  EXPECT_EQ(log.requests.size(), 2U);
  EXPECT_EQ(log.bad_lines, 1U);
  EXPECT_EQ(log.first_trouble, "line 3: no JSON");
}

TEST(OtlpSpans, ALineThatIsTooLongCostsNoOthers) {
  std::string one = spans;
  std::erase(one, '\n');
  const RequestLog log = parse_otlp_spans(one + "\n" + one + std::string(most_otlp_line_bytes, ' ') + "\n" + one);
  EXPECT_EQ(log.requests.size(), 2U);
  EXPECT_EQ(log.first_trouble, "line 2: longer than 64 MiB");
}

}  // namespace
}  // namespace joulery
