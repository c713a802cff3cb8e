#include "watch/bpf_api.h"

#include <optional>

#include "core/shared_library.h"

namespace joulery {
namespace {

std::optional<BpfApi> load() {
  const auto library = SharedLibrary::open({"libbpf.so.1"});
  if (!library) return std::nullopt;
  BpfApi api{};
  const bool whole =
      library.find(api.open_mem, "bpf_object__open_mem") && library.find(api.load, "bpf_object__load") &&
      library.find(api.close, "bpf_object__close") && library.find(api.find_map, "bpf_object__find_map_by_name") &&
      library.find(api.map_fd, "bpf_map__fd") && library.find(api.set_initial_value, "bpf_map__set_initial_value") &&
      library.find(api.set_max_entries, "bpf_map__set_max_entries") && library.find(api.find_program, "bpf_object__find_program_by_name") &&
      library.find(api.program_fd, "bpf_program__fd") && library.find(api.attach, "bpf_program__attach") &&
      library.find(api.destroy_link, "bpf_link__destroy") && library.find(api.lookup, "bpf_map_lookup_elem") &&
      library.find(api.lookup_batch, "bpf_map_lookup_batch") && library.find(api.take_batch, "bpf_map_lookup_and_delete_batch") &&
      library.find(api.take, "bpf_map_lookup_and_delete_elem") && library.find(api.remove, "bpf_map_delete_elem") &&
      library.find(api.test_run, "bpf_prog_test_run_opts") && library.find(api.possible_cpus, "libbpf_num_possible_cpus") &&
      library.find(api.set_print, "libbpf_set_print");
  return whole ? std::optional(api) : std::nullopt;
}

}  // namespace

const BpfApi* bpf_api() {
  static const std::optional<BpfApi> api = load();
  return api ? &*api : nullptr;
}

}  // namespace joulery
