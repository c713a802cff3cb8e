// The page on which `joulery run` tells the program that it runs what was burnt so far: one small file beside the mark rings
// (watch/mark_ring.h), under a fixed name, written by us and read by `joulery_energy_so_far()` in the program.
//
//   offset   bytes                   what
//   0        8                       energy_page_magic
//   8        4                       energy_page_layout
//   12       4                       not used
//   16       8                       wanted: a program that reads the page writes 1 here; then it is told more often
//   24       8                       sequence: odd while the figures are being written
//   32       sizeof(joulery_energy)  the figures, as joulery/joulery.h lays them out
//
// Numbers are in the machine's own byte order. Both sides read and write it as a file: the page lies where the program may
// shrink it, and a page that is gone must neither kill the program nor us.
//
// Invariant: figures read between two equal, even sequence numbers are of one publication.
#pragma once

#include <cstddef>
#include <cstdint>

#include "joulery/joulery.h"

namespace joulery {

inline constexpr const char* energy_page_name = "energy.page";
inline constexpr std::uint64_t energy_page_magic = 0x3147504e454c554aULL;  // "JULENPG1"
inline constexpr std::uint32_t energy_page_layout = 1;
inline constexpr std::size_t energy_wanted_at = 16, energy_sequence_at = 24, energy_figures_at = 32;

static_assert(sizeof(joulery_energy) == 64 + JOULERY_MISSING_BYTES && offsetof(joulery_energy, missing) == 64);

}  // namespace joulery
