// joulery_energy_so_far(): the program's side of the page of watch/energy_page.h. Like the marks it lives in other people's
// programs, so it needs libc alone and keeps errno; it holds nothing, so a forked child may call it too.
#define JOULERY_BUILD
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "watch/energy_page.h"
#include "watch/mark_ring.h"

namespace joulery {
namespace {

constexpr int tries = 1000;  // a writer needs microseconds; one that was stopped in the midst of it is not waited for

bool get(int file, void* into, std::size_t size, std::size_t at) {
  return pread(file, into, size, static_cast<off_t>(at)) == static_cast<ssize_t>(size);
}

int open_page() {
  const char* directory = secure_getenv(ring_environment_variable);
  if (directory == nullptr || directory[0] != '/') return -1;
  char path[4096];
  const int used = snprintf(path, sizeof path, "%s/%s", directory, energy_page_name);
  if (used < 0 || static_cast<std::size_t>(used) >= sizeof path) return -1;
  return open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
}

bool is_page(int file) {
  struct {
    std::uint64_t magic;
    std::uint32_t layout, unused;
  } head{};
  return get(file, &head, sizeof head, 0) && head.magic == energy_page_magic && head.layout == energy_page_layout;
}

bool read_figures(int file, joulery_energy* into) {
  for (int i = 0; i < tries; ++i) {
    std::uint64_t before = 1, after = 0;
    if (!get(file, &before, sizeof before, energy_sequence_at) || !get(file, into, sizeof *into, energy_figures_at) ||
        !get(file, &after, sizeof after, energy_sequence_at))
      return false;
    if (before == after && before % 2 == 0) return true;
  }
  return false;
}

int read_page(joulery_energy* into) {
  const int file = open_page();
  if (file < 0) return 0;
  const std::uint64_t wanted = 1;
  const bool told = is_page(file) && pwrite(file, &wanted, sizeof wanted, energy_wanted_at) == sizeof wanted && read_figures(file, into);
  close(file);
  if (!told) return 0;
  into->missing[JOULERY_MISSING_BYTES - 1] = '\0';
  return 1;
}

}  // namespace
}  // namespace joulery

int joulery_energy_so_far(joulery_energy* into) {
  const int saved = errno;
  const int told = into != nullptr ? joulery::read_page(into) : 0;
  errno = saved;
  return told;
}
