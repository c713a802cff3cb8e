// What a person calls a component: "node/cpu/package-0" is "CPU package 0".
#pragma once

#include <string>

#include "core/component.h"

namespace joulery {

std::string label_of(const Component& component);

// True for the parts whose energy CPU time says nothing about.
inline bool is_accelerator(const Component& component) { return component.local().starts_with("node/gpu/"); }

}  // namespace joulery
