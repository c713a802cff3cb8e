#include "watch/profile/name_table.h"

#include <algorithm>
#include <cstring>

namespace joulery {
namespace {

constexpr std::size_t block_bytes = 64 * 1024;
constexpr std::size_t entry_bytes = 64;   // of the index and the map, about

}  // namespace

NameTable::NameTable() { add(""); }

NameId NameTable::add(std::string_view name) {
  const auto found = ids_.find(name);
  if (found != ids_.end()) return found->second;
  const auto id = static_cast<NameId>(texts_.size());
  const std::string_view kept = keep(name);
  texts_.push_back(kept);
  ids_.emplace(kept, id);
  bytes_ += name.size() + entry_bytes;
  return id;
}

std::string_view NameTable::keep(std::string_view name) {
  if (name.empty()) return {};
  if (name.size() > room_) {
    room_ = std::max(block_bytes, name.size());
    blocks_.push_back(std::make_unique_for_overwrite<char[]>(room_));
    next_ = blocks_.back().get();
  }
  char* const text = next_;
  std::memcpy(text, name.data(), name.size());
  next_ += name.size();
  room_ -= name.size();
  return {text, name.size()};
}

}  // namespace joulery
