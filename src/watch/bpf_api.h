// libbpf behind a table of functions, loaded at run time (libbpf.so.1): nothing is linked, and its absence is no crash. These
// are our own declarations of the few functions that are used; they are part of its stable interface since 1.0.
#pragma once

#include <cstdarg>
#include <cstddef>
#include <cstdint>

extern "C" {
struct bpf_object;
struct bpf_program;
struct bpf_map;
struct bpf_link;
}

namespace joulery {

struct BpfOpenOptions {  // the head of bpf_object_open_opts
  std::size_t size = sizeof(BpfOpenOptions);
  const char* object_name = nullptr;
};

struct BpfTestRun {  // bpf_test_run_opts
  std::size_t size = sizeof(BpfTestRun);
  const void* data_in = nullptr;
  void* data_out = nullptr;
  std::uint32_t data_size_in = 0, data_size_out = 0;
  const void* context_in = nullptr;
  void* context_out = nullptr;
  std::uint32_t context_size_in = 0, context_size_out = 0, returned = 0;
  int repeat = 0;
  std::uint32_t duration = 0, flags = 0, cpu = 0, batch_size = 0;
};
inline constexpr std::uint32_t bpf_run_on_cpu = 1;  // BPF_F_TEST_RUN_ON_CPU

// Functions that return int give 0 or a negative errno.
struct BpfApi {
  bpf_object* (*open_mem)(const void* bytes, std::size_t size, const BpfOpenOptions* options);
  int (*load)(bpf_object*);
  void (*close)(bpf_object*);
  bpf_map* (*find_map)(const bpf_object*, const char* name);
  int (*map_fd)(const bpf_map*);
  int (*set_initial_value)(bpf_map*, const void* data, std::size_t size);
  int (*set_max_entries)(bpf_map*, std::uint32_t entries);
  bpf_program* (*find_program)(const bpf_object*, const char* name);
  int (*program_fd)(const bpf_program*);
  bpf_link* (*attach)(const bpf_program*);
  int (*destroy_link)(bpf_link*);
  int (*lookup)(int map, const void* key, void* value);
  int (*lookup_batch)(int map, void* in, void* out, void* keys, void* values, std::uint32_t* count, const void* options);
  int (*take_batch)(int map, void* in, void* out, void* keys, void* values, std::uint32_t* count, const void* options);
  int (*take)(int map, const void* key, void* value);  // looks up and deletes
  int (*remove)(int map, const void* key);
  int (*test_run)(int program, BpfTestRun* run);
  int (*possible_cpus)();
  using Print = int (*)(int level, const char* format, va_list arguments);
  Print (*set_print)(Print print);
};

// The library, loaded once for the process; null where it is not there, or older than 1.0.
const BpfApi* bpf_api();

}  // namespace joulery
