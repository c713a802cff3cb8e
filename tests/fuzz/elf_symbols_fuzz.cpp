// Programs as files: whoever runs under `joulery flame` chooses their bytes.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "watch/stacks/elf_symbols.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto symbols = joulery::ElfSymbols::parse({data, size});
  if (!symbols) return 0;
  for (std::uint64_t offset = 0; offset < size; offset += 64) (void)symbols->at_offset(offset);
  if (symbols->build_id().size() > 128) std::abort();
  return 0;
}
