#include "judge/flame.h"

#include <algorithm>
#include <unordered_map>

namespace joulery {
namespace {

FlameFrame& child_of(FlameFrame& frame, const FlamePart& part) {
  const auto found = frame.children.find(part.name);
  if (found != frame.children.end()) return found->second;
  FlameFrame& child = frame.children[std::string(part.name)];
  child.kind = part.kind;
  return child;
}

struct Sums {
  FlameFunction function;
  int open = 0;  // how often it is on the stack that is being walked
};

// A function that calls itself counts once for each stack.
void walk(const FlameFrame& frame, std::unordered_map<std::string_view, Sums>& all) {
  for (const auto& [name, child] : frame.children) {
    Sums& sums = all[name];
    sums.function.kind = child.kind;
    sums.function.self += child.self, sums.function.self_weight += child.self_weight;
    if (sums.open++ == 0) sums.function.energy += child.energy, sums.function.weight += child.weight;
    walk(child, all);
    --all[name].open;
  }
}

}  // namespace

std::string_view name_of(FrameKind kind) {
  constexpr std::string_view names[] = {"other", "python", "native", "kernel", "operation", "module"};
  return names[static_cast<unsigned>(kind)];
}

void Flame::add(std::span<const FlamePart> stack, Energy energy, double weight) {
  FlameFrame* frame = &root;
  frame->energy += energy, frame->weight += weight;
  for (std::size_t i = 0; i < stack.size(); ++i) {
    const bool too_deep = i >= deepest;
    frame = &child_of(*frame, too_deep ? FlamePart{"(deeper)"} : stack[i]);
    frame->energy += energy, frame->weight += weight;
    if (too_deep) break;
  }
  frame->self += energy, frame->self_weight += weight;
}

std::vector<FlameFunction> Flame::functions() const {
  std::unordered_map<std::string_view, Sums> all;
  walk(root, all);
  std::vector<FlameFunction> functions;
  for (auto& [name, sums] : all) {
    sums.function.name = name;
    functions.push_back(std::move(sums.function));
  }
  std::ranges::sort(functions, [](const FlameFunction& a, const FlameFunction& b) {
    return std::tuple(-a.self.base_units(), -a.self_weight, std::string_view(a.name)) <
           std::tuple(-b.self.base_units(), -b.self_weight, std::string_view(b.name));
  });
  return functions;
}

}  // namespace joulery
