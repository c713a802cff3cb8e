#include "judge/label.h"

#include <fmt/format.h>

namespace joulery {
namespace {

struct Pattern {
  std::string_view prefix;  // of the path; what follows it goes into the label
  std::string_view label;
};

constexpr Pattern patterns[] = {
    {"node/cpu/package-", "CPU package "},
    {"node/dram/package-", "DRAM of package "},
    {"node/gpu/amd-", "AMD GPU "},
    {"node/gpu/intel-", "Intel GPU "},
    {"node/gpu/gaudi-", "Gaudi "},
    {"node/gpu/neuron-", "Neuron device "},
    {"node/gpu/tpu-", "TPU "},
    {"node/gpu/", "GPU "},
    {"node/module/", "CPU and GPU module "},
    {"node/board/", "board: "},
    {"wall/", "wall, feed "},
};
constexpr Pattern names[] = {
    {"node", "whole node"},        {"node/cpu", "CPU"}, {"node/dram", "DRAM"}, {"node/gpu", "GPUs"}, {"node/rest", "rest of the node"},
    {"node/platform", "platform"}, {"wall", "wall"},
};

}  // namespace

std::string label_of(const Component& component) {
  if (!component.host().empty())
    return component.local().empty() ? std::string(component.host())
                                     : fmt::format("{}: {}", component.host(), label_of(Component(std::string(component.local()))));
  const std::string& path = component.path();
  for (const Pattern& name : names)
    if (path == name.prefix) return std::string(name.label);
  for (const Pattern& pattern : patterns) {
    if (!path.starts_with(pattern.prefix)) continue;
    std::string rest = path.substr(pattern.prefix.size());
    if (const auto slash = rest.find('/'); slash != std::string::npos)
      rest = fmt::format("{}, {}", rest.substr(0, slash), rest.substr(slash + 1));
    return fmt::format("{}{}", pattern.label, rest);
  }
  return path;
}

}  // namespace joulery
