// Messages that hold anything: a head that is taken gives no line break or hop-by-hop header on, and a body is the same however its bytes
// are cut.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "app/serve/relay_message.h"

namespace {

using namespace joulery;

void require(bool condition) {
  if (!condition) std::abort();
}

void check_headers(const RelayHead& head) {
  const std::string text = forwarded_headers(head);
  std::string_view left = text;
  while (!left.empty()) {
    const auto end = left.find("\r\n");
    require(end != std::string_view::npos);
    const std::string_view line = left.substr(0, end);
    require(line.find(':') != std::string_view::npos && line.find_first_of("\r\n") == std::string_view::npos);
    require(!line.starts_with("Transfer-Encoding:") && !line.starts_with("Content-Length:") && !line.starts_with("Connection:"));
    left.remove_prefix(end + 2);
  }
}

struct Read {
  std::string body;
  bool good = true, finished = false;
};

Read read(BodyFraming framing, std::uint64_t length, std::string_view text, std::size_t piece) {
  BodyReader reader(framing, length);
  Read result;
  std::string in;
  for (std::size_t at = 0; at < text.size() && result.good && !reader.finished(); at += piece) {
    in += text.substr(at, piece);
    for (std::size_t before = in.size() + 1; result.good && in.size() < before;) {
      before = in.size();
      result.good = reader.take(in, result.body, 1000);
    }
  }
  result.finished = reader.finished();
  return result;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto head = read_request_head(text); head && *head) check_headers(**head);
  if (const auto head = read_answer_head(text, "GET"); head && *head) check_headers(**head);
  const Read whole = read(BodyFraming::chunked, 0, text, size + 1), cut = read(BodyFraming::chunked, 0, text, 3);
  if (whole.good && cut.good) require(whole.body == cut.body && whole.finished == cut.finished);
  const Read fixed = read(BodyFraming::length, 9, text, 4);
  require(fixed.good && fixed.body == text.substr(0, 9));
  return 0;
}
