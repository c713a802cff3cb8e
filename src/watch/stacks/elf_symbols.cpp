#include "watch/stacks/elf_symbols.h"

#include <cxxabi.h>
#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>

namespace joulery {
namespace {

constexpr std::size_t most_functions = 4'000'000;
constexpr std::size_t longest_name = 4096;

// A copy of the T at `offset`, where all of it lies inside.
template <class T>
std::optional<T> read(std::span<const unsigned char> file, std::uint64_t offset) {
  if (offset > file.size() || file.size() - offset < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, file.data() + offset, sizeof value);
  return value;
}

std::span<const unsigned char> part(std::span<const unsigned char> file, std::uint64_t offset, std::uint64_t size) {
  if (offset > file.size()) return {};
  return file.subspan(offset, std::min<std::uint64_t>(size, file.size() - offset));
}

std::string_view text_at(std::span<const unsigned char> strings, std::uint64_t offset) {
  if (offset >= strings.size()) return {};
  const auto rest = strings.subspan(offset);
  const auto end = std::ranges::find(rest, 0);
  if (end == rest.end()) return {};
  return {reinterpret_cast<const char*>(rest.data()), std::min<std::size_t>(static_cast<std::size_t>(end - rest.begin()), longest_name)};
}

std::string demangled(std::string_view name) {
  if (!name.starts_with("_Z")) return std::string(name);
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(abi::__cxa_demangle(std::string(name).c_str(), nullptr, nullptr, &status),
                                                         &std::free);
  return text ? std::string(text.get()) : std::string(name);
}

std::string build_id_in(std::span<const unsigned char> notes) {
  for (std::uint64_t at = 0; const auto note = read<Elf64_Nhdr>(notes, at);) {
    const std::uint64_t name = at + sizeof(Elf64_Nhdr), description = name + (note->n_namesz + 3ULL) / 4 * 4;
    const auto bytes = part(notes, description, note->n_descsz);
    if (note->n_type == NT_GNU_BUILD_ID && text_at(notes, name) == "GNU" && bytes.size() == note->n_descsz && bytes.size() <= 64) {
      std::string id;
      for (const unsigned char byte : bytes) id += fmt::format("{:02x}", byte);
      return id;
    }
    at = description + (note->n_descsz + 3ULL) / 4 * 4;
  }
  return {};
}

// A file in memory for as long as this lives.
class MappedFile {
 public:
  static Result<MappedFile> open(const std::string& path) {
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) return std::unexpected(error_from_errno(errno, "cannot open the program file", path));
    struct stat facts{};
    void* bytes = MAP_FAILED;
    if (::fstat(fd, &facts) == 0 && S_ISREG(facts.st_mode) && facts.st_size > 0)
      bytes = ::mmap(nullptr, static_cast<std::size_t>(facts.st_size), PROT_READ, MAP_PRIVATE, fd, 0);
    ::close(fd);
    if (bytes == MAP_FAILED) return fail(ErrorCode::io, "cannot read the program file", path);
    return MappedFile({static_cast<const unsigned char*>(bytes), static_cast<std::size_t>(facts.st_size)});
  }
  MappedFile(MappedFile&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}
  MappedFile& operator=(MappedFile&&) = delete;
  ~MappedFile() {
    if (!bytes_.empty()) ::munmap(const_cast<unsigned char*>(bytes_.data()), bytes_.size());
  }
  std::span<const unsigned char> bytes() const { return bytes_; }

 private:
  explicit MappedFile(std::span<const unsigned char> bytes) : bytes_(bytes) {}
  std::span<const unsigned char> bytes_;
};

}  // namespace

Result<ElfSymbols> ElfSymbols::parse(std::span<const unsigned char> file) {
  const auto header = read<Elf64_Ehdr>(file, 0);
  constexpr unsigned char order = std::endian::native == std::endian::little ? ELFDATA2LSB : ELFDATA2MSB;
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_ident[EI_CLASS] != ELFCLASS64 ||
      header->e_ident[EI_DATA] != order)
    return fail(ErrorCode::format, "not a 64-bit ELF file");
  ElfSymbols result;
  for (std::uint64_t i = 0; i < header->e_phnum; ++i) {
    const auto segment = read<Elf64_Phdr>(file, header->e_phoff + i * sizeof(Elf64_Phdr));
    if (segment && segment->p_type == PT_LOAD) result.segments_.push_back({segment->p_offset, segment->p_vaddr, segment->p_filesz});
    if (segment && segment->p_type == PT_NOTE && result.build_id_.empty())
      result.build_id_ = build_id_in(part(file, segment->p_offset, segment->p_filesz));
  }
  for (std::uint64_t i = 0; i < header->e_shnum; ++i) {
    const auto section = read<Elf64_Shdr>(file, header->e_shoff + i * sizeof(Elf64_Shdr));
    if (!section || (section->sh_type != SHT_SYMTAB && section->sh_type != SHT_DYNSYM)) continue;
    const auto names = read<Elf64_Shdr>(file, header->e_shoff + std::uint64_t{section->sh_link} * sizeof(Elf64_Shdr));
    if (!names) continue;
    const auto strings = part(file, names->sh_offset, names->sh_size), symbols = part(file, section->sh_offset, section->sh_size);
    for (std::uint64_t at = 0; result.functions_.size() < most_functions; at += sizeof(Elf64_Sym)) {
      const auto symbol = read<Elf64_Sym>(symbols, at);
      if (!symbol) break;
      const auto type = ELF64_ST_TYPE(symbol->st_info);
      if ((type != STT_FUNC && type != STT_GNU_IFUNC) || symbol->st_shndx == SHN_UNDEF) continue;
      const std::string_view name = text_at(strings, symbol->st_name);
      if (!name.empty()) result.functions_.push_back({symbol->st_value, symbol->st_size, std::string(name)});
    }
  }
  result.sort();
  return result;
}

// By address, of several names of one address the one that tells a size, then the shortest.
void ElfSymbols::sort() {
  std::ranges::sort(functions_, [](const Function& a, const Function& b) {
    return std::tuple(a.address, a.size == 0, a.name.size(), std::string_view(a.name)) <
           std::tuple(b.address, b.size == 0, b.name.size(), std::string_view(b.name));
  });
  const auto twins = std::ranges::unique(functions_, {}, &Function::address);
  functions_.erase(twins.begin(), twins.end());
  for (Function& function : functions_) function.name = demangled(function.name);
}

Result<ElfSymbols> ElfSymbols::open(const std::string& path) {
  const auto file = MappedFile::open(path);
  if (!file) return std::unexpected(file.error());
  auto symbols = parse(file->bytes());
  if (!symbols || symbols->build_id_.size() < 4) return symbols;
  const std::string debug =
      fmt::format("/usr/lib/debug/.build-id/{}/{}.debug", symbols->build_id_.substr(0, 2), symbols->build_id_.substr(2));
  if (::access(debug.c_str(), R_OK) != 0) return symbols;
  const auto more = MappedFile::open(debug);
  if (!more) return symbols;
  if (auto found = parse(more->bytes())) {
    std::ranges::move(found->functions_, std::back_inserter(symbols->functions_));
    symbols->sort();
  }
  return symbols;
}

std::string_view ElfSymbols::at_offset(std::uint64_t offset) const {
  const auto inside = [offset](const Segment& s) { return offset >= s.offset && offset - s.offset < s.size; };
  const auto segment = std::ranges::find_if(segments_, inside);
  if (segment == segments_.end()) return {};
  const std::uint64_t address = segment->address + (offset - segment->offset);
  auto next = std::ranges::upper_bound(functions_, address, {}, &Function::address);
  if (next == functions_.begin()) return {};
  const Function& function = *--next;
  // Hand-written assembly tells no size: it reaches to the next function.
  if (function.size != 0 && address - function.address >= function.size) return {};
  return function.name;
}

}  // namespace joulery
