#include "watch/profile/nvtx_ranges.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>

namespace joulery {
namespace {

constexpr std::string_view module_prefix = "nn.Module: ";

// "aten::mm, seq = 4, op_id = 9, sizes = [...]": the name, and the number of the autograd sequence.
struct Told {
  std::string_view name;
  std::optional<std::int64_t> sequence;
};

Told told_by(std::string_view text) {
  Told told{text, std::nullopt};
  for (const std::string_view key : {", seq = ", ", op_id = ", ", sizes = ", ", input_op_ids = "}) {
    const std::size_t at = text.find(key);
    if (at == std::string_view::npos) continue;
    told.name = told.name.substr(0, std::min(told.name.size(), at));
    std::int64_t number = -1;
    const char* const digits = text.data() + at + key.size();
    if (key.starts_with(", seq") && std::from_chars(digits, text.data() + text.size(), number).ec == std::errc() && number >= 0)
      told.sequence = number;
  }
  return told;
}

// The word and the number of "Iteration 7", "epoch_3", "batch#2"; an empty word where the name is not of that form.
struct Numbered {
  std::string word;
  std::int64_t number = -1;
};

Numbered numbered(std::string_view name) {
  std::size_t digits = name.size();
  while (digits > 0 && std::isdigit(static_cast<unsigned char>(name[digits - 1]))) --digits;
  Numbered found;
  if (digits == name.size() || std::from_chars(name.data() + digits, name.data() + name.size(), found.number).ec != std::errc()) return {};
  std::string_view word = name.substr(0, digits);
  while (!word.empty() && std::string_view(" _-#=:").find(word.back()) != std::string_view::npos) word.remove_suffix(1);
  for (const char letter : word.substr(0, 16)) found.word += static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  return found;
}

bool is_iteration(std::string_view word) { return word == "iteration" || word == "iter" || word == "batch"; }

bool is_operator(std::string_view name) { return name.find("::") != std::string_view::npos; }

// "net/conv1", "model.layers.0.mlp": parts with something on both sides, and no space.
bool is_path(std::string_view name) {
  const std::size_t mark = name.find_first_of("./");
  return mark != std::string_view::npos && mark > 0 && mark + 1 < name.size() && name.find(' ') == std::string_view::npos;
}

}  // namespace

void NvtxRanges::add(std::uint32_t track, std::int64_t begin, std::int64_t duration, std::string_view text) {
  const Told told = told_by(text);
  ProfileEvent event{.begin = begin, .duration = duration, .name = builder_->profile().names.add(told.name), .kind = EventKind::annotation};
  if (const std::int64_t step = step_number(told.name); step >= 0) {
    steps_ = true;
    event.kind = EventKind::step;
    event.correlation = ProfileBuilder::link(step + 1);
  } else {
    if (told.sequence) event.correlation = ProfileBuilder::link(*told.sequence);
    std::vector<Open>& open = open_[track];
    while (!open.empty() && open.back().end <= begin) open.pop_back();
    if (!open.empty()) around_.insert(open.back().name);
    open.push_back({event.end(), event.name});
  }
  builder_->add(track, event);
}

void NvtxRanges::classify() {
  Profile& profile = builder_->profile();
  for (ProfileTrack& track : profile.tracks)
    for (ProfileEvent& event : track.events) {
      if (event.kind != EventKind::annotation) continue;
      const std::string_view name = profile.names[event.name];
      const Numbered round = numbered(name);
      if (is_iteration(round.word) && !steps_) {
        event.kind = EventKind::step;
        event.correlation = ProfileBuilder::link(round.number + 1);
      } else if (is_iteration(round.word) || round.word == "epoch") {
        continue;
      } else if (!is_operator(name) && (name.starts_with(module_prefix) || is_path(name) || around_.contains(event.name))) {
        event.kind = EventKind::module;
        event.correlation = no_link;
      } else {
        event.kind = EventKind::op;
        event.external = ProfileBuilder::link(++operators_);
      }
    }
}

}  // namespace joulery
