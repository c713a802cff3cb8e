// Tokens of answers as they pass, in the forms of OpenAI, Ollama and TGI.
#include "watch/serving/answer_tokens.h"

#include <gtest/gtest.h>

namespace joulery {
namespace {

constexpr const char* stream =
    "data: {\"id\":\"c-1\",\"model\":\"m\",\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\n"
    "data: {\"id\":\"c-1\",\"choices\":[{\"delta\":{\"content\":\"Hel\"}}]}\n\n"
    "data: {\"id\":\"c-1\",\"choices\":[{\"delta\":{\"content\":\"lo\"}}]}\n\n";
constexpr const char* usage =
    "data: "
    "{\"id\":\"c-1\",\"choices\":[],\"usage\":{\"prompt_tokens\":40,\"completion_tokens\":3,\"prompt_tokens_details\":{\"cached_tokens\":"
    "16}}}\n\n";
constexpr const char* done = "data: [DONE]\n\n";

TEST(AnswerTokens, OfAStreamWithUsage) {
  AnswerTokens tokens(AnswerForm::events);
  tokens.take(stream, {5});
  tokens.take(std::string(usage) + done, {9});
  tokens.ended({9});
  EXPECT_EQ(tokens.id(), "c-1");
  EXPECT_EQ(tokens.model(), "m");
  EXPECT_EQ(tokens.tokens_in(), 24.0);
  EXPECT_EQ(tokens.tokens_out(), 3.0);
  EXPECT_EQ(tokens.source(), "usage");
  EXPECT_EQ(tokens.first_token(), MonoTime{5});
}

// However the bytes are cut, the same is told; and the first token came with the event that brings text.
TEST(AnswerTokens, WithoutUsagePiecesAreCounted) {
  const std::string text = std::string(stream) + done;
  for (std::size_t size : {1U, 7U, 100U}) {
    AnswerTokens tokens(AnswerForm::events);
    for (std::size_t at = 0; at < text.size(); at += size)
      tokens.take(std::string_view(text).substr(at, size), {static_cast<std::int64_t>(at)});
    tokens.ended({1000});
    EXPECT_EQ(tokens.tokens_out(), 2.0);
    EXPECT_EQ(tokens.source(), "pieces");
    EXPECT_FALSE(tokens.tokens_in());
    EXPECT_GT(tokens.first_token()->ns, static_cast<std::int64_t>(std::string_view(stream).find("Hel") - 100));
  }
}

TEST(AnswerTokens, OfAWholeAnswer) {
  AnswerTokens tokens(AnswerForm::json);
  tokens.take(R"({"id":"x","model":"m","choices":[{"message":{"content":"hi"}}],"usage":{"prompt_)", {1});
  tokens.take(R"(tokens":7,"completion_tokens":9}})", {2});
  tokens.ended({3});
  EXPECT_EQ(tokens.tokens_in(), 7.0);
  EXPECT_EQ(tokens.tokens_out(), 9.0);
  EXPECT_FALSE(tokens.first_token());
}

TEST(AnswerTokens, OfOllamaAndTgi) {
  AnswerTokens ollama(AnswerForm::json_lines);
  ollama.take(
      "{\"model\":\"l\",\"message\":{\"content\":\"a\"},\"done\":false}\n{\"model\":\"l\",\"message\":{\"content\":\"\"},\"done\":true,"
      "\"prompt_eval_count\":26,\"eval_count\":298}\n",
      {4});
  ollama.ended({5});
  EXPECT_EQ(ollama.tokens_in(), 26.0);
  EXPECT_EQ(ollama.tokens_out(), 298.0);
  AnswerTokens tgi(AnswerForm::events);
  tgi.take(
      "data:{\"index\":1,\"token\":{\"id\":5,\"text\":\" a\"},\"details\":null}\n\ndata:{\"index\":2,\"token\":{\"id\":6,\"text\":\" b\"},"
      "\"generated_text\":\" a b\",\"details\":{\"generated_tokens\":2}}\n\n",
      {1});
  tgi.ended({2});
  EXPECT_EQ(tgi.tokens_out(), 2.0);
}

TEST(AnswerTokens, OfWhatIsNoneNothingIsSaid) {
  for (const AnswerForm form : {AnswerForm::other, AnswerForm::json, AnswerForm::events}) {
    AnswerTokens tokens(form);
    tokens.take("plain text\nevent: x\ndata: {broken\n", {1});
    tokens.ended({2});
    EXPECT_FALSE(tokens.tokens_out() || tokens.tokens_in());
    EXPECT_EQ(tokens.source(), "");
  }
  EXPECT_EQ(answer_form("text/event-stream; charset=utf-8"), AnswerForm::events);
  EXPECT_EQ(answer_form("Application/JSON"), AnswerForm::json);
  EXPECT_EQ(answer_form("text/html"), AnswerForm::other);
}

TEST(AnswerTokens, AnEventWithoutEndTakesNoMemory) {
  AnswerTokens tokens(AnswerForm::events);
  for (int i = 0; i < 64; ++i) tokens.take(std::string(1 << 16, 'x'), {i});
  tokens.take(std::string("\n") + usage, {99});
  tokens.ended({99});
  EXPECT_EQ(tokens.tokens_out(), 3.0);
}

TEST(RequestBody, SaysItsModel) {
  EXPECT_EQ(read_request_body(R"({"model":"m","stream":true})").model, "m");
  EXPECT_EQ(read_request_body(R"({"model":"m","stream":true})").stream, true);
  EXPECT_EQ(read_request_body("[]").model, "");
}

}  // namespace
}  // namespace joulery
