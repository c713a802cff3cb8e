// How many tokens an answer holds, read off its bytes as they pass: OpenAI-style JSON and its stream of server-sent events,
// Ollama's lines of JSON, TGI's. Where the server says so (`usage`, `eval_count`), its word counts; else the pieces of a stream
// are counted, one token each, which is what servers send unless they bundle.
//
// Invariant: bounded memory: an event longer than `most_event_bytes` is passed over; of a whole answer, its last bytes are kept.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/time.h"

namespace joulery {

inline constexpr std::size_t most_event_bytes = 1 << 20;

// What a JSON answer, or one event of a stream, says of itself.
struct AnswerPart {
  std::optional<double> tokens_in, tokens_out, tokens_cached;
  std::string id, model;
  bool text = false;  // it brings a piece of the answer
};
AnswerPart read_answer_part(std::string_view json);

// What a request asks for: its model, and whether the answer is to be a stream.
struct AskedFor {
  std::string model;
  std::optional<bool> stream;
};
AskedFor read_request_body(std::string_view json);

enum class AnswerForm : std::uint8_t { other, json, events, json_lines };
// Of a content type: "text/event-stream; charset=utf-8".
AnswerForm answer_form(std::string_view content_type);

class AnswerTokens {
 public:
  explicit AnswerTokens(AnswerForm form) : form_(form) {}

  // Bytes of the answer's body, in order, and when they came. `ended` once, after the last.
  void take(std::string_view bytes, MonoTime at);
  void ended(MonoTime at);

  const std::string& id() const { return id_; }
  const std::string& model() const { return model_; }
  std::optional<MonoTime> first_token() const { return first_; }  // of a stream
  std::optional<double> tokens_in() const { return in_; }         // without those that a cache had
  std::optional<double> tokens_out() const {
    return out_ ? out_ : pieces_ > 0 ? std::optional(static_cast<double>(pieces_)) : std::nullopt;
  }
  std::int64_t pieces() const { return pieces_; }
  // How tokens_out() is known: "usage", "pieces", "" where it is not.
  std::string_view source() const { return out_ ? "usage" : pieces_ > 0 ? "pieces" : ""; }

 private:
  void take_line(std::string_view line, MonoTime at);
  void take_part(const AnswerPart& part, MonoTime at);

  AnswerForm form_;
  std::string held_;           // of a stream: the line that has begun; of JSON: all of it, up to most_event_bytes
  bool skipping_ = false;      // the line, or the answer, is too long
  std::string id_, model_;
  std::optional<MonoTime> first_;
  std::optional<double> in_, out_;
  std::int64_t pieces_ = 0;
};

}  // namespace joulery
