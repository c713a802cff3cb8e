// NVIDIA's management library, loaded at run time behind a table of functions. The declarations are our own: the library's
// binary interface is plain C with versioned names (nvmlInit_v2), and a function that this driver lacks is a null pointer,
// which call() answers as the library itself would (13, function not found).
#pragma once

#include <expected>
#include <string>

namespace joulery {

enum class NvmlReturn : int {
  success = 0,
  not_supported = 3,
  no_permission = 4,
  not_found = 6,
  driver_not_loaded = 9,
  timeout = 10,
  library_not_found = 12,
  function_not_found = 13,
  gpu_is_lost = 15,
  reset_required = 16,
  operating_system = 17,
  version_mismatch = 18,
  deprecated = 26,
  gpu_not_found = 28,
  unknown = 999,
};

struct NvmlUtilization {
  unsigned gpu, memory;  // per cent of the last sample period
};
struct NvmlMemory {
  unsigned long long total, free, used;  // bytes
};
static_assert(sizeof(NvmlUtilization) == 8 && sizeof(NvmlMemory) == 24);

// The functions that we use; `Device` is the library's opaque handle.
struct NvmlApi {
  using Device = void*;
  int (*init)();
  int (*shutdown)();
  const char* (*error_string)(int);
  int (*device_count)(unsigned*);
  int (*device_by_index)(unsigned, Device*);
  int (*name)(Device, char*, unsigned);
  int (*uuid)(Device, char*, unsigned);
  int (*architecture)(Device, unsigned*);
  int (*compute_capability)(Device, int*, int*);
  int (*total_energy)(Device, unsigned long long*);       // mJ since the driver was loaded
  int (*power_usage)(Device, unsigned*);                  // mW
  int (*power_limits)(Device, unsigned*, unsigned*);      // mW: least, greatest
  int (*utilization)(Device, NvmlUtilization*);
  int (*memory_info)(Device, NvmlMemory*);
  int (*clock_info)(Device, int, unsigned*);              // MHz
  int (*clock_event_reasons)(Device, unsigned long long*);
};

// Calls a function that may be absent.
template <class... Parameters, class... Arguments>
NvmlReturn call(int (*function)(Parameters...), Arguments... arguments) {
  return function ? static_cast<NvmlReturn>(function(arguments...)) : NvmlReturn::function_not_found;
}

// The library loaded and initialised, for as long as the object lives. Objects may live side by side: both loading and
// initialising are counted by those who do them.
class NvmlLibrary {
 public:
  // Errors: library_not_found, or what its initialisation answers.
  static std::expected<NvmlLibrary, NvmlReturn> open();
  NvmlLibrary(NvmlLibrary&& other) noexcept;
  NvmlLibrary& operator=(NvmlLibrary&&) = delete;
  ~NvmlLibrary();

  const NvmlApi& api() const { return api_; }
  std::string describe(NvmlReturn code) const;

 private:
  NvmlLibrary(void* handle, const NvmlApi& api) : handle_(handle), api_(api) {}
  void* handle_;
  NvmlApi api_;
};

}  // namespace joulery
