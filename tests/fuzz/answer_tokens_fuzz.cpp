// An answer that holds anything: however its bytes are cut, the same tokens are told of a stream, and none is negative.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "watch/serving/answer_tokens.h"

namespace {

using namespace joulery;

void require(bool condition) {
  if (!condition) std::abort();
}

AnswerTokens taken(AnswerForm form, std::string_view text, std::size_t piece) {
  AnswerTokens tokens(form);
  for (std::size_t at = 0; at < text.size(); at += piece) tokens.take(text.substr(at, piece), {static_cast<std::int64_t>(at)});
  tokens.ended({static_cast<std::int64_t>(text.size())});
  return tokens;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const AnswerForm form : {AnswerForm::other, AnswerForm::json, AnswerForm::events, AnswerForm::json_lines}) {
    const AnswerTokens whole = taken(form, text, size + 1), cut = taken(form, text, 7);
    require(whole.tokens_in() == cut.tokens_in() && whole.tokens_out() == cut.tokens_out() && whole.id() == cut.id());
    require(!whole.tokens_out() || *whole.tokens_out() >= 0);
    require(!whole.tokens_in() || *whole.tokens_in() >= 0);
  }
  (void)read_request_body(text);
  return 0;
}
