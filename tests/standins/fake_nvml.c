/* A scripted stand-in for libnvidia-ml.so.1, for tests on machines without a GPU.
 *
 * The file named by FAKE_NVML_SCRIPT says what GPUs there are and what they do. It may change while it is used, and is read again.
 * '#' begins a comment:
 *
 *   driver VERSION                  origin MS: time 0 as CLOCK_MONOTONIC in ms (default: the first call)
 *   return FUNCTION CODE [FROM_MS TO_MS]   what a function that belongs to no GPU answers ("return nvmlInit_v2 9")
 *   delay FUNCTION MS [FROM_MS TO_MS]      how long it takes
 *   gpu N return FUNCTION CODE [FROM_MS TO_MS]   gpu N delay ...: the same for one GPU
 *   gpu N name TEXT...              gpu N uuid TEXT               gpu N pci DOMAIN:BUS:DEVICE (hexadecimal)
 *   gpu N arch A                    gpu N cc MAJOR MINOR          gpu N limit LEAST_W GREATEST_W [STANDARD_W [OUT_OF_BAND_W]]
 *                                   what is set is kept in the script's file + ".limit.N", for other processes
 *   gpu N watts T_MS W              from T_MS on it burns W watts; lines with growing T
 *   gpu N duty T_MS PERIOD_MS HIGH_W LOW_W SHARE   from T_MS on a square wave, high first
 *   gpu N counter yes|no            whether it has an energy counter (no: before Volta)
 *   gpu N base MJ                   the counter at time 0, in millijoules
 *   gpu N reset T_MS                the counter begins again from 0 (the driver was loaded anew)
 *   gpu N update MS                 values change this often (default 100); counter_update MS: of the counter alone
 *   gpu N window MS                 draw and average are the mean of this long (default 0: an instant); instant MS: of the instant
 *   gpu N gain FACTOR OFFSET_W      what the power sensor makes of the truth; counter_gain FACTOR: what the counter does
 *   gpu N memory_watts W            part of its power, of the memory
 *   gpu N module W [OWN]            one module with a CPU of W watts; the counter is the module's, and where OWN is 1 field 191 has
 *                                   both, by scope
 *   gpu N lost T_MS [BACK_MS]       from then on (to then) every call answers 15
 *   gpu N utilisation PERCENT       gpu N memory TOTAL_MIB USED_MIB [RESERVED_MIB]
 *   gpu N clock MHZ                 gpu N throttle BITS
 *   gpu N field ID[/SCOPE] VALUE    an element of nvmlDeviceGetFieldValues; "code C" for its own return code; SCOPE all: every link
 *                                   C -1: the whole call is refused for it
 *   gpu N rate ID[/SCOPE] PER_S     an element that grows
 *   gpu N mig GI CI UUID TOTAL_MIB USED_MIB        a slice; "mig on": partitioned, without slices yet
 *   gpu N process PID MIB SM MEM ENC DEC [GI CI]   a process, with its per cent of use
 *   gpu N gpm ID VALUE              gpu N gpm_mig GI ID VALUE     profiling metrics; a GPU without any has no GPM
 *
 * fake_nvml_set_time_ms(t) stops time at t, for tests that must not wait. Built with FAKE_NVML_MINIMAL it is a library that lacks
 * most symbols; with FAKE_NVML_OLD it lacks the fields, the profiling and the newer versions of functions. */
#include "fake_nvml.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int users;
static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;

int fake_leave(int code) {
  pthread_mutex_unlock(&one_at_a_time);
  return code;
}

/* A handle is a number: 1 + N for a GPU, 1000 + 100 N + S for its slice S. The script may change under it. */
static Gpu* gpu_of(const void* handle) {
  const size_t n = (size_t)handle;
  Machine* machine = fake_machine();
  Gpu* gpu = n >= 1000 && n - 1000 < 100 * MOST_GPUS ? &machine->gpu[(n - 1000) / 100]
             : n >= 1 && n <= MOST_GPUS              ? &machine->gpu[n - 1]
                                                     : NULL;
  return gpu && gpu->present ? gpu : NULL;
}
Slice* fake_slice_of(const void* handle) {
  const size_t n = (size_t)handle;
  Gpu* gpu = n >= 1000 ? gpu_of(handle) : NULL;
  return gpu && (int)((n - 1000) % 100) < gpu->slices ? &gpu->slice[(n - 1000) % 100] : NULL;
}

/* What a call for a GPU answers before it does anything. Returns with the lock held; a delay is waited for without it. */
int fake_enter(const void* handle, const char* function, Gpu** gpu) {
  double delay_ms = 0;
  pthread_mutex_lock(&one_at_a_time);
  *gpu = gpu_of(handle);
  if (!users) return UNINITIALIZED;
  if (!*gpu || ((size_t)handle >= 1000 && !fake_slice_of(handle))) return INVALID;
  int code = fake_rule((*gpu)->rule, (*gpu)->rules, function, OK, &delay_ms);
  if (delay_ms > 0) {
    pthread_mutex_unlock(&one_at_a_time);
    fake_sleep(delay_ms);
    pthread_mutex_lock(&one_at_a_time);
    *gpu = gpu_of(handle);
    if (!*gpu) return INVALID;
  }
  const double now = fake_now_ms();
  if ((*gpu)->lost_ms >= 0 && now >= (*gpu)->lost_ms && ((*gpu)->back_ms < 0 || now < (*gpu)->back_ms)) code = LOST;
  return code;
}

/* The same for a function of the library as a whole. */
static int enter_library(const char* function) {
  double delay_ms = 0;
  pthread_mutex_lock(&one_at_a_time);
  const Machine* machine = fake_machine();
  return fake_rule(machine->rule, machine->rules, function, OK, &delay_ms);
}

int nvmlInit_v2(void) {
  const int code = enter_library("nvmlInit_v2");
  if (code == OK) ++users;
  return fake_leave(code);
}
int nvmlShutdown(void) {
  pthread_mutex_lock(&one_at_a_time);
  if (!users) return fake_leave(UNINITIALIZED);
  --users;
  return fake_leave(OK);
}
int nvmlDeviceGetCount_v2(unsigned* count) {
  const int code = enter_library("nvmlDeviceGetCount_v2");
  *count = 0;
  for (int i = 0; i < MOST_GPUS; ++i)
    if (fake_machine()->gpu[i].present) *count = (unsigned)i + 1;
  return fake_leave(code);
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  Gpu* gpu = NULL;
  *device = (void*)((size_t)index + 1);
  return fake_leave(fake_enter(*device, "nvmlDeviceGetHandleByIndex_v2", &gpu));
}
int nvmlDeviceGetName(void* device, char* text, unsigned size) {
  Gpu* gpu = NULL;
  const int code = fake_enter(device, "nvmlDeviceGetName", &gpu);
  if (code == OK) snprintf(text, size, "%s", gpu->name);
  return fake_leave(code);
}
int nvmlDeviceGetUUID(void* device, char* text, unsigned size) {
  Gpu* gpu = NULL;
  const int code = fake_enter(device, "nvmlDeviceGetUUID", &gpu);
  const Slice* slice = fake_slice_of(device);
  if (code == OK) snprintf(text, size, "%s", slice ? slice->uuid : gpu->uuid);
  return fake_leave(code);
}

unsigned fake_milliwatts(double watts) { return (unsigned)(watts * 1e3 + 0.5); }

int nvmlDeviceGetPowerUsage(void* device, unsigned* milliwatts) {
  Gpu* gpu = NULL;
  const int code = fake_enter(device, "nvmlDeviceGetPowerUsage", &gpu);
  if (code == OK) *milliwatts = fake_milliwatts(fake_power(gpu, gpu->window_ms));
  return fake_leave(code == OK && fake_slice_of(device) ? NOT_SUPPORTED : code);
}

#ifndef FAKE_NVML_MINIMAL
const char* nvmlErrorString(int code) {
  switch (code) {
    case OK: return "Success";
    case NOT_SUPPORTED: return "Not Supported";
    case LOST: return "GPU is lost";
    default: return "Unknown Error";
  }
}
int nvmlSystemGetDriverVersion(char* text, unsigned size) {
  const int code = enter_library("nvmlSystemGetDriverVersion");
  snprintf(text, size, "%s", fake_machine()->driver);
  return fake_leave(code);
}
int nvmlDeviceGetHandleByUUID(const char* uuid, void** device) {
  const int code = enter_library("nvmlDeviceGetHandleByUUID");
  Machine* machine = fake_machine();
  for (size_t n = 0; n < MOST_GPUS; ++n) {
    Gpu* gpu = NULL;
    if (!machine->gpu[n].present || strcmp(machine->gpu[n].uuid, uuid) != 0) continue;
    *device = (void*)(n + 1);
    pthread_mutex_unlock(&one_at_a_time);
    return fake_leave(fake_enter(*device, "nvmlDeviceGetHandleByUUID", &gpu));
  }
  return fake_leave(code == OK ? NOT_FOUND : code);
}
int nvmlDeviceGetPciInfo_v3(void* device, void* info) {
  Gpu* gpu = NULL;
  const int code = fake_enter(device, "nvmlDeviceGetPciInfo_v3", &gpu);
  if (code != OK) return fake_leave(code);
  memset(info, 0, 68);
  unsigned* numbers = (unsigned*)((char*)info + 16);
  numbers[0] = gpu->pci_domain, numbers[1] = gpu->pci_bus, numbers[2] = gpu->pci_device;
  snprintf((char*)info + 36, 32, "%08X:%02X:%02X.0", gpu->pci_domain, gpu->pci_bus, gpu->pci_device);
  return fake_leave(OK);
}
int nvmlDeviceGetTotalEnergyConsumption(void* device, unsigned long long* millijoules) {
  Gpu* gpu = NULL;
  const int code = fake_enter(device, "nvmlDeviceGetTotalEnergyConsumption", &gpu);
  if (code == OK) *millijoules = fake_counter_mj(gpu, gpu->is_module);
  return fake_leave(code == OK && (!gpu->has_counter || fake_slice_of(device)) ? NOT_SUPPORTED : code);
}
int nvmlDeviceGetArchitecture(void* device, unsigned* arch) {
  Gpu* gpu = NULL;
  const int code = fake_enter(device, "nvmlDeviceGetArchitecture", &gpu);
  if (code == OK) *arch = gpu->arch;
  return fake_leave(code);
}
int nvmlDeviceGetCudaComputeCapability(void* device, int* major, int* minor) {
  Gpu* gpu = NULL;
  const int code = fake_enter(device, "nvmlDeviceGetCudaComputeCapability", &gpu);
  if (code == OK) *major = gpu->cc_major, *minor = gpu->cc_minor;
  return fake_leave(code);
}
int nvmlDeviceGetPowerManagementLimitConstraints(void* device, unsigned* least, unsigned* greatest) {
  Gpu* gpu = NULL;
  const int code = fake_enter(device, "nvmlDeviceGetPowerManagementLimitConstraints", &gpu);
  if (code == OK) *least = gpu->limit_least, *greatest = gpu->limit_greatest;
  return fake_leave(code);
}
int nvmlDeviceGetUtilizationRates(void* device, unsigned* gpu_and_memory) {
  Gpu* gpu = NULL;
  const int code = fake_enter(device, "nvmlDeviceGetUtilizationRates", &gpu);
  if (code == OK) gpu_and_memory[0] = gpu_and_memory[1] = gpu->utilisation;
  return fake_leave(code == OK && gpu->partitioned ? NOT_SUPPORTED : code);
}
int nvmlDeviceGetMemoryInfo(void* device, unsigned long long* total_free_used) {
  Gpu* gpu = NULL;
  const int code = fake_enter(device, "nvmlDeviceGetMemoryInfo", &gpu);
  if (code != OK) return fake_leave(code);
  const Slice* slice = fake_slice_of(device);
  total_free_used[0] = slice ? slice->memory_total : gpu->memory_total;
  total_free_used[2] = slice ? slice->memory_used : gpu->memory_used + gpu->memory_reserved;
  total_free_used[1] = total_free_used[0] - total_free_used[2];
  return fake_leave(OK);
}
int nvmlDeviceGetClockInfo(void* device, int domain, unsigned* megahertz) {
  Gpu* gpu = NULL;
  const int code = fake_enter(device, "nvmlDeviceGetClockInfo", &gpu);
  if (code == OK) *megahertz = domain == 2 ? 2619 : gpu->clock;
  return fake_leave(code == OK && (domain < 0 || domain > 3) ? INVALID : code);
}
int nvmlDeviceGetCurrentClocksThrottleReasons(void* device, unsigned long long* bits) {
  Gpu* gpu = NULL;
  const int code = fake_enter(device, "nvmlDeviceGetCurrentClocksEventReasons", &gpu);
  if (code == OK) *bits = gpu->throttle;
  return fake_leave(code);
}

/* --- MIG ----------------------------------------------------------------------------------------------------------- */
int nvmlDeviceGetMigMode(void* device, unsigned* now, unsigned* pending) {
  Gpu* gpu = NULL;
  const int code = fake_enter(device, "nvmlDeviceGetMigMode", &gpu);
  if (code == OK) *now = *pending = (unsigned)gpu->partitioned;
  return fake_leave(code);
}
int nvmlDeviceGetMaxMigDeviceCount(void* device, unsigned* count) {
  Gpu* gpu = NULL;
  const int code = fake_enter(device, "nvmlDeviceGetMaxMigDeviceCount", &gpu);
  *count = 7;
  return fake_leave(code);
}
int nvmlDeviceGetMigDeviceHandleByIndex(void* device, unsigned index, void** slice) {
  Gpu* gpu = NULL;
  const int code = fake_enter(device, "nvmlDeviceGetMigDeviceHandleByIndex", &gpu);
  *slice = (void*)(1000 + 100 * ((size_t)device - 1) + index);
  return fake_leave(code == OK && (int)index >= gpu->slices ? NOT_FOUND : code);
}
int nvmlDeviceGetGpuInstanceId(void* device, unsigned* id) {
  Gpu* gpu = NULL;
  const int code = fake_enter(device, "nvmlDeviceGetGpuInstanceId", &gpu);
  if (fake_slice_of(device)) *id = fake_slice_of(device)->gpu_instance;
  return fake_leave(code == OK && !fake_slice_of(device) ? INVALID : code);
}
int nvmlDeviceGetComputeInstanceId(void* device, unsigned* id) {
  Gpu* gpu = NULL;
  const int code = fake_enter(device, "nvmlDeviceGetComputeInstanceId", &gpu);
  if (fake_slice_of(device)) *id = fake_slice_of(device)->compute_instance;
  return fake_leave(code == OK && !fake_slice_of(device) ? INVALID : code);
}

/* --- Processes ------------------------------------------------------------------------------------------------------ */
typedef struct {
  unsigned pid;
  unsigned long long memory;
  unsigned gpu_instance, compute_instance;
} RunningProcess;

static int list_processes(void* device, const char* function, unsigned* count, RunningProcess* to) {
  Gpu* gpu = NULL;
  const int code = fake_enter(device, function, &gpu);
  if (code != OK) return fake_leave(code);
  const unsigned room = *count;
  *count = (unsigned)gpu->processes;
  if (room < *count) return fake_leave(INSUFFICIENT_SIZE);
  for (int i = 0; i < gpu->processes; ++i) {
    const RunningProcess process = {gpu->process[i].pid, gpu->process[i].bytes, gpu->process[i].gpu_instance,
                                    gpu->process[i].compute_instance};
    to[i] = process;
  }
  return fake_leave(OK);
}
int nvmlDeviceGetComputeRunningProcesses_v2(void* device, unsigned* count, RunningProcess* to) {
  return list_processes(device, "nvmlDeviceGetComputeRunningProcesses_v2", count, to);
}
/* The first version has entries of 16 bytes: who calls it with those of later ones reads rubbish, as with the real library. */
int nvmlDeviceGetComputeRunningProcesses(void* device, unsigned* count, void* to) {
  (void)device;
  memset(to, 0xAB, (size_t)16 * *count);
  return OK;
}

typedef struct {
  unsigned pid;
  unsigned long long time_us;
  unsigned sm, memory, encoder, decoder;
} ProcessUse;

/* One newest sample per busy process; with time 0 an average over a long past, which is told as 42 here. */
int nvmlDeviceGetProcessUtilization(void* device, ProcessUse* to, unsigned* count, unsigned long long since_us) {
  Gpu* gpu = NULL;
  const int code = fake_enter(device, "nvmlDeviceGetProcessUtilization", &gpu);
  if (code != OK) return fake_leave(code);
  if (gpu->partitioned) return fake_leave(NOT_SUPPORTED);
  const unsigned long long now = 1000000ULL + (unsigned long long)(fake_now_ms() * 1e3);
  unsigned busy = 0, room = *count;
  for (int i = 0; i < gpu->processes; ++i) {
    const Process* p = &gpu->process[i];
    if (p->sm == 0 || now <= since_us) continue;
    if (busy == room) return fake_leave(INSUFFICIENT_SIZE);
    const ProcessUse use = {p->pid, now, since_us ? p->sm : 42, p->memory, p->encoder, p->decoder};
    to[busy++] = use;
  }
  *count = busy;
  return fake_leave(busy ? OK : NOT_FOUND);
}
#endif
#if !defined(FAKE_NVML_MINIMAL) && !defined(FAKE_NVML_OLD)
int nvmlDeviceGetCurrentClocksEventReasons(void* device, unsigned long long* bits) {
  return nvmlDeviceGetCurrentClocksThrottleReasons(device, bits);
}
int nvmlDeviceGetComputeRunningProcesses_v3(void* device, unsigned* count, RunningProcess* to) {
  return list_processes(device, "nvmlDeviceGetComputeRunningProcesses_v3", count, to);
}
int nvmlDeviceGetMemoryInfo_v2(void* device, unsigned long long* version_total_reserved_free_used) {
  Gpu* gpu = NULL;
  const int code = fake_enter(device, "nvmlDeviceGetMemoryInfo_v2", &gpu);
  unsigned long long* v = version_total_reserved_free_used;
  if (code != OK) return fake_leave(code);
  if (*(unsigned*)v != (40U | 2U << 24)) return fake_leave(25);
  v[1] = gpu->memory_total, v[2] = gpu->memory_reserved, v[4] = gpu->memory_used;
  v[3] = v[1] - v[2] - v[4];
  return fake_leave(OK);
}
#endif
