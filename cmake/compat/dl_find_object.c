/* glibc 2.35 brought _dl_find_object(), and a libgcc that is linked statically asks for it whenever an exception is
 * thrown. This one answers by dl_iterate_phdr(), which is older, so that packages also run on glibc 2.34. Hidden: it
 * serves the program or module that it is linked into and nobody else. Contract: dlfcn.h of glibc 2.35. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stddef.h>

struct search {
  ElfW(Addr) address;
  struct dl_find_object *result;
};

static int look_at(struct dl_phdr_info *object, size_t size, void *argument) {
  struct search *search = argument;
  (void)size;
  int inside = 0;
  void *frames = NULL;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr) *part = &object->dlpi_phdr[i];
    const ElfW(Addr) begin = object->dlpi_addr + part->p_vaddr;
    if (part->p_type == DLFO_EH_SEGMENT_TYPE) frames = (void *)begin;
    if (part->p_type != PT_LOAD || search->address < begin || search->address - begin >= part->p_memsz) continue;
    inside = 1;
    search->result->dlfo_map_start = (void *)begin;
    search->result->dlfo_map_end = (void *)(begin + part->p_memsz);
  }
  if (!inside) return 0;
  search->result->dlfo_eh_frame = frames;
  return frames != NULL ? 1 : -1;
}

__attribute__((visibility("hidden"))) int _dl_find_object(void *address, struct dl_find_object *result) {
  struct search search = {(ElfW(Addr))address, result};
  *result = (struct dl_find_object){0};
  return dl_iterate_phdr(look_at, &search) == 1 ? 0 : -1;
}
