#include "core/prometheus_page.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

namespace joulery {
namespace {

bool is_name_char(char c, bool first) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == ':' || (!first && c >= '0' && c <= '9');
}

// Takes one line apart from left to right.
class LineReader {
 public:
  explicit LineReader(std::string_view line) : left_(line) {}

  void skip_space() {
    while (!left_.empty() && (left_.front() == ' ' || left_.front() == '\t')) left_.remove_prefix(1);
  }
  bool at_end() const { return left_.empty(); }
  bool take(char c) {
    if (left_.empty() || left_.front() != c) return false;
    left_.remove_prefix(1);
    return true;
  }
  std::string_view name() {
    std::size_t length = 0;
    while (length < left_.size() && is_name_char(left_[length], length == 0)) ++length;
    const std::string_view name = left_.substr(0, length);
    left_.remove_prefix(length);
    return name;
  }
  std::string_view word() {
    const std::string_view word = left_.substr(0, left_.find_first_of(" \t"));
    left_.remove_prefix(word.size());
    return word;
  }
  // A text in quotes with \\, \" and \n undone; nothing where it does not end.
  std::optional<std::string> quoted() {
    if (!take('"')) return std::nullopt;
    std::string text;
    while (!left_.empty()) {
      const char c = left_.front();
      left_.remove_prefix(1);
      if (c == '"') return text;
      if (c != '\\' || left_.empty()) {
        text += c;
        continue;
      }
      const char escaped = left_.front();
      left_.remove_prefix(1);
      text += escaped == 'n' ? '\n' : escaped;
    }
    return std::nullopt;
  }

 private:
  std::string_view left_;
};

// "3", "1e9", "+Inf", "NaN".
std::optional<double> number_of(std::string_view word) {
  if (word.starts_with('+')) word.remove_prefix(1);
  if (word == "NaN" || word == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (word == "Inf" || word == "inf") return std::numeric_limits<double>::infinity();
  if (word == "-Inf" || word == "-inf") return -std::numeric_limits<double>::infinity();
  double value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return value;
}

bool read_labels(LineReader& line, PrometheusSample& sample) {
  while (true) {
    line.skip_space();
    if (line.take('}')) return true;
    const std::string_view name = line.name();
    line.skip_space();
    if (name.empty() || !line.take('=')) return false;
    line.skip_space();
    auto value = line.quoted();
    if (!value) return false;
    sample.labels.emplace_back(name, *std::move(value));
    line.skip_space();
    if (!line.take(',') && line.take('}')) return true;
  }
}

// False for a line that is no sample; a sample that nobody wants is left out.
bool read_line(std::string_view text, bool (*wanted)(std::string_view), std::vector<PrometheusSample>& samples) {
  LineReader line(text);
  line.skip_space();
  if (line.at_end() || line.take('#')) return true;
  PrometheusSample sample;
  const std::string_view name = line.name();
  if (name.empty()) return false;
  if (wanted && !wanted(name)) return true;
  sample.name = name;
  line.skip_space();
  if (line.take('{') && !read_labels(line, sample)) return false;
  line.skip_space();
  const auto value = number_of(line.word());
  if (!value) return false;
  sample.value = *value;
  line.skip_space();
  if (!line.at_end() && !number_of(line.word())) return false;  // the time of the sample
  samples.push_back(std::move(sample));
  return true;
}

}  // namespace

std::string_view PrometheusSample::label(std::string_view wanted) const {
  for (const auto& [known, text] : labels)
    if (known == wanted) return text;
  return {};
}

PrometheusPage parse_prometheus_text(std::string_view text, bool (*wanted)(std::string_view name)) {
  PrometheusPage page;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    std::string_view line = text.substr(begin, end - begin);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!read_line(line, wanted, page.samples)) ++page.bad_lines;
    begin = end + 1;
  }
  return page;
}

}  // namespace joulery
