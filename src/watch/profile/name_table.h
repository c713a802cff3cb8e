// Names, each kept once: an event holds the number. A trace of millions of events has a few thousand names.
//
// Invariant: id 0 is the empty name; ids count up from there; a name's text stays where it is for the table's life.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace joulery {

using NameId = std::uint32_t;

class NameTable {
 public:
  NameTable();
  NameTable(const NameTable&) = delete;
  NameTable& operator=(const NameTable&) = delete;
  NameTable(NameTable&&) = default;
  NameTable& operator=(NameTable&&) = default;

  // The number of `name`, a new one where it was never seen.
  NameId add(std::string_view name);
  std::string_view operator[](NameId id) const { return texts_[id]; }
  std::size_t size() const { return texts_.size(); }
  // Bytes of memory that the names take, about.
  std::size_t bytes() const { return bytes_; }

 private:
  std::string_view keep(std::string_view name);

  std::vector<std::string_view> texts_;
  std::unordered_map<std::string_view, NameId> ids_;
  std::vector<std::unique_ptr<char[]>> blocks_;
  std::size_t room_ = 0;      // left in the last block
  char* next_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace joulery
