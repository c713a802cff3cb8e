// The functions of an ELF file (64 bit, this machine's byte order): names by address, from .symtab and .dynsym, and from the file with
// debugging symbols that its build id names (/usr/lib/debug/.build-id) where that is installed.
//
// Invariant: whatever bytes come in, nothing outside of them is read, and nothing more is kept than they hold.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace joulery {

class ElfSymbols {
 public:
  // Errors: those of opening; format where it is no ELF file that we read.
  static Result<ElfSymbols> open(const std::string& path);
  static Result<ElfSymbols> parse(std::span<const unsigned char> file);

  // The function at this offset of the file (as a mapping tells it), demangled; "" where none is known.
  std::string_view at_offset(std::uint64_t offset) const;
  std::size_t size() const { return functions_.size(); }
  const std::string& build_id() const { return build_id_; }  // hexadecimal; "" where it has none

 private:
  struct Segment {
    std::uint64_t offset = 0, address = 0, size = 0;
  };
  struct Function {
    std::uint64_t address = 0, size = 0;
    std::string name;
  };
  void sort();

  std::vector<Segment> segments_;
  std::vector<Function> functions_;
  std::string build_id_;
};

}  // namespace joulery
