// NVIDIA's management library, loaded at run time behind a table of functions. The declarations are our own: the library's
// binary interface is plain C with versioned names (nvmlInit_v2), and a function that this driver lacks is a null pointer,
// which call() answers as the library itself would (13, function not found).
//
// Layouts and numbers: NVIDIA's documented interface of driver 13.3 for x86-64 and aarch64, which only ever grows.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <vector>

namespace joulery {

enum class NvmlReturn : int {
  success = 0,
  uninitialized = 1,
  invalid_argument = 2,
  not_supported = 3,
  no_permission = 4,
  not_found = 6,
  insufficient_size = 7,
  driver_not_loaded = 9,
  timeout = 10,
  library_not_found = 12,
  function_not_found = 13,
  gpu_is_lost = 15,
  reset_required = 16,
  operating_system = 17,
  version_mismatch = 18,
  no_data = 21,
  deprecated = 26,
  not_ready = 27,
  gpu_not_found = 28,
  unknown = 999,
};

struct NvmlUtilization {
  unsigned gpu, memory;  // per cent of the last sample period
};
struct NvmlMemory {
  unsigned long long total, free, used;  // bytes; `used` holds what the driver reserves
};
struct NvmlMemoryV2 {
  unsigned version;
  unsigned long long total, reserved, free, used;  // bytes, `reserved` apart
};
inline constexpr unsigned nvml_memory_version = sizeof(NvmlMemoryV2) | 2U << 24;

struct NvmlPci {
  char legacy[16];
  unsigned domain, bus, device, ids, subsystem;
  char address[32];  // "00000000:1B:00.0"
};

// One element of nvmlDeviceGetFieldValues, which has its own return code. `value` is read by `type`.
struct NvmlFieldValue {
  unsigned id, scope;
  long long time_us, latency_us;
  unsigned type;
  int code;
  union {
    double real;
    unsigned number;
    unsigned long word;
    unsigned long long wide;
    long long signed_wide;
    int signed_number;
    unsigned short small;
  } value;
};
inline constexpr unsigned nvml_all_links = ~0U;  // as scope of an NVLink field: the sum

struct NvmlProcess {
  unsigned pid;
  unsigned long long memory;            // bytes; all ones: not known
  unsigned gpu_instance, compute_instance;  // all ones: not of a MIG slice
};
struct NvmlProcessUse {
  unsigned pid;
  unsigned long long time_us;
  unsigned sm, memory, encoder, decoder;  // per cent
};

struct NvmlGpmSupport {
  unsigned version, supported;
};
struct NvmlGpmMetric {
  unsigned id;
  int code;
  double value;
  const char *short_name, *long_name, *unit;
};
struct NvmlGpmRequest {
  unsigned version, count;
  void *first, *second;
  NvmlGpmMetric metrics[480];  // the library reads and writes `count` of them
};

static_assert(sizeof(NvmlUtilization) == 8 && sizeof(NvmlMemory) == 24 && sizeof(NvmlMemoryV2) == 40 && sizeof(NvmlPci) == 68);
static_assert(sizeof(NvmlFieldValue) == 40 && sizeof(NvmlProcess) == 24 && sizeof(NvmlProcessUse) == 32 && sizeof(NvmlGpmMetric) == 40);

// The functions that we use; `Device` is the library's opaque handle, `GpmSample` one that it allocates.
struct NvmlApi {
  using Device = void*;
  using GpmSample = void*;
  int (*init)();
  int (*shutdown)();
  const char* (*error_string)(int);
  int (*driver_version)(char*, unsigned);
  int (*device_count)(unsigned*);
  int (*device_by_index)(unsigned, Device*);
  int (*device_by_uuid)(const char*, Device*);
  int (*name)(Device, char*, unsigned);
  int (*uuid)(Device, char*, unsigned);
  int (*pci)(Device, NvmlPci*);
  int (*architecture)(Device, unsigned*);
  int (*compute_capability)(Device, int*, int*);
  int (*field_values)(Device, int, NvmlFieldValue*);
  int (*total_energy)(Device, unsigned long long*);       // mJ since the driver was loaded
  int (*power_usage)(Device, unsigned*);                  // mW
  int (*power_limits)(Device, unsigned*, unsigned*);      // mW: least, greatest
  int (*enforced_limit)(Device, unsigned*);               // mW: the least of all that limit it
  int (*requested_limit)(Device, unsigned*);              // mW
  int (*standard_limit)(Device, unsigned*);               // mW: what the driver starts with
  int (*set_limit)(Device, unsigned);                     // mW; until the driver is unloaded
  int (*utilization)(Device, NvmlUtilization*);
  int (*memory_info)(Device, NvmlMemory*);
  int (*memory_info_v2)(Device, NvmlMemoryV2*);
  int (*clock_info)(Device, int, unsigned*);              // MHz
  int (*clock_event_reasons)(Device, unsigned long long*);
  int (*mig_mode)(Device, unsigned*, unsigned*);          // now, pending
  int (*mig_most)(Device, unsigned*);
  int (*mig_by_index)(Device, unsigned, Device*);
  int (*gpu_instance)(Device, unsigned*);
  int (*compute_instance)(Device, unsigned*);
  int (*compute_processes)(Device, unsigned*, NvmlProcess*);
  int (*graphics_processes)(Device, unsigned*, NvmlProcess*);
  int (*process_use)(Device, NvmlProcessUse*, unsigned*, unsigned long long);  // newer than this time
  int (*gpm_support)(Device, NvmlGpmSupport*);
  int (*gpm_alloc)(GpmSample*);
  int (*gpm_free)(GpmSample);
  int (*gpm_sample)(Device, GpmSample);
  int (*gpm_mig_sample)(Device, unsigned, GpmSample);
  int (*gpm_metrics)(NvmlGpmRequest*);
};

// Calls a function that may be absent.
template <class... Parameters, class... Arguments>
NvmlReturn call(int (*function)(Parameters...), Arguments... arguments) {
  return function ? static_cast<NvmlReturn>(function(arguments...)) : NvmlReturn::function_not_found;
}

// A text that the library gives about a device; "" where it has none.
std::string nvml_text(int (*function)(NvmlApi::Device, char*, unsigned), NvmlApi::Device device);

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
  // Functions that measure and that this library does not have, by their names.
  std::vector<std::string> lacking() const;
  // Major number of the driver: 535; 0 where it does not say.
  int driver() const;

 private:
  NvmlLibrary(void* handle, const NvmlApi& api) : handle_(handle), api_(api) {}
  void* handle_;
  NvmlApi api_;
};

}  // namespace joulery
