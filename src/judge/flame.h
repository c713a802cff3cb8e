// Where energy went, by call stack: a tree of frames, each with what it and everything it called has burnt.
//
// It is made from stacks with weights: those of a profile (modules, Python functions, operators inside each other; the weight is seconds)
// or those that were sampled (the weight is samples).
//
// Invariant: a frame's energy is its own and its children's, to the microjoule; so the root's is the sum over all stacks.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/quantity.h"

namespace joulery {

// What a frame is, for its colour and for telling people apart what is theirs.
enum class FrameKind : std::uint8_t { other, python, native, kernel, operation, module };
std::string_view name_of(FrameKind kind);

struct FlameFrame {
  FrameKind kind = FrameKind::other;
  Energy energy, self;                  // with children; without
  double weight = 0, self_weight = 0;
  std::map<std::string, FlameFrame, std::less<>> children;
};

// One function or operator over all stacks.
struct FlameFunction {
  std::string name;
  FrameKind kind = FrameKind::other;
  Energy energy, self;                  // energy: of the stacks that hold it, each counted once
  double weight = 0, self_weight = 0;
};

struct FlamePart {
  std::string_view name;
  FrameKind kind = FrameKind::other;
};

struct Flame {
  std::string title;                    // the command, the trace
  bool has_energy = false;              // false: weights alone
  std::string unit;                     // of the weights: "samples", "s"
  FlameFrame root;
  std::vector<std::string> notes;

  // A frame beyond this depth is added to "(deeper)": a stack from a broken trace may be endless.
  static constexpr std::size_t deepest = 250;
  // Adds a stack, outermost frame first.
  void add(std::span<const FlamePart> stack, Energy energy, double weight);
  // Every function, most energy by itself first (most weight where there is no energy).
  std::vector<FlameFunction> functions() const;
};

}  // namespace joulery
