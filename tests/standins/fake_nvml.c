/* A scripted stand-in for libnvidia-ml.so.1, for tests on machines without a GPU.
 *
 * The file named by FAKE_NVML_SCRIPT says what GPUs there are and what they do; '#' begins a comment:
 *
 *   return FUNCTION CODE            what a function that belongs to no GPU answers ("return nvmlInit_v2 9")
 *   gpu N name TEXT...              gpu N uuid TEXT
 *   gpu N arch A                    gpu N cc MAJOR MINOR
 *   gpu N watts T_MS W              from T_MS on it burns W watts; several lines, T growing
 *   gpu N limit LEAST_W GREATEST_W
 *   gpu N counter yes|no            whether it has an energy counter (no: before Volta)
 *   gpu N base MJ                   the counter at time 0, in millijoules
 *   gpu N reset T_MS                the counter begins again from 0 (the driver was loaded anew)
 *   gpu N update MS                 values change this often (default 100)
 *   gpu N window MS                 power is the mean of this long (default 0: an instant)
 *   gpu N lost T_MS                 from then on every call answers 15
 *   gpu N utilisation PERCENT       gpu N memory TOTAL_MIB USED_MIB       gpu N clock MHZ       gpu N throttle BITS
 *   gpu N return FUNCTION CODE      what that function answers for this GPU
 *
 * Time runs from the first nvmlInit_v2; fake_nvml_set_time_ms(t) stops it at t, for tests that must not wait.
 * Built with FAKE_NVML_MINIMAL it is a library that lacks most symbols, as an old driver does. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { OK = 0, INVALID = 2, NOT_SUPPORTED = 3, LOST = 15 };
enum { MOST_GPUS = 16, MOST_POINTS = 64, MOST_RULES = 32 };

typedef struct {
  char function[64];
  int code;
} Rule;

typedef struct {
  int present, has_counter, cc_major, cc_minor, points, rules;
  char name[96], uuid[96];
  unsigned arch, limit_least, limit_greatest, utilisation, clock;
  double at_ms[MOST_POINTS], watts[MOST_POINTS], update_ms, window_ms, lost_ms, reset_ms;
  unsigned long long base_mj, memory_total, memory_used, throttle;
  Rule rule[MOST_RULES];
} Gpu;

static Gpu gpus[MOST_GPUS];
static Rule rules[MOST_RULES];
static int rule_count, loaded, users;
static double origin_ms, fixed_ms = -1;

static double clock_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}
static double now_ms(void) { return fixed_ms >= 0 ? fixed_ms : clock_ms() - origin_ms; }

static void set_defaults(Gpu* gpu, int n) {
  memset(gpu, 0, sizeof *gpu);
  gpu->present = gpu->has_counter = 1;
  snprintf(gpu->name, sizeof gpu->name, "Stand-in GPU");
  snprintf(gpu->uuid, sizeof gpu->uuid, "GPU-00000000-0000-0000-0000-%012d", n);
  gpu->arch = 9, gpu->cc_major = 9, gpu->update_ms = 100, gpu->lost_ms = gpu->reset_ms = -1;
  gpu->limit_least = 200000, gpu->limit_greatest = 700000, gpu->clock = 1980;
  gpu->memory_total = 80ULL << 30;
}

static void add_rule(Rule* list, int* count, const char* text) {
  if (*count < MOST_RULES && sscanf(text, "%63s %d", list[*count].function, &list[*count].code) == 2) ++*count;
}

static void gpu_line(Gpu* gpu, const char* key, const char* rest) {
  double a = 0, b = 0;
  const int numbers = sscanf(rest, "%lf %lf", &a, &b);
  if (!strcmp(key, "name"))
    snprintf(gpu->name, sizeof gpu->name, "%s", rest);
  else if (!strcmp(key, "uuid"))
    snprintf(gpu->uuid, sizeof gpu->uuid, "%s", rest);
  else if (!strcmp(key, "counter"))
    gpu->has_counter = !strncmp(rest, "yes", 3);
  else if (!strcmp(key, "return"))
    add_rule(gpu->rule, &gpu->rules, rest);
  else if (numbers < 1)
    return;
  else if (!strcmp(key, "arch"))
    gpu->arch = (unsigned)a;
  else if (!strcmp(key, "cc"))
    gpu->cc_major = (int)a, gpu->cc_minor = (int)b;
  else if (!strcmp(key, "limit"))
    gpu->limit_least = (unsigned)(a * 1e3), gpu->limit_greatest = (unsigned)(b * 1e3);
  else if (!strcmp(key, "base"))
    gpu->base_mj = strtoull(rest, NULL, 10);
  else if (!strcmp(key, "reset"))
    gpu->reset_ms = a;
  else if (!strcmp(key, "update"))
    gpu->update_ms = a;
  else if (!strcmp(key, "window"))
    gpu->window_ms = a;
  else if (!strcmp(key, "lost"))
    gpu->lost_ms = a;
  else if (!strcmp(key, "utilisation"))
    gpu->utilisation = (unsigned)a;
  else if (!strcmp(key, "memory"))
    gpu->memory_total = (unsigned long long)a << 20, gpu->memory_used = (unsigned long long)b << 20;
  else if (!strcmp(key, "clock"))
    gpu->clock = (unsigned)a;
  else if (!strcmp(key, "throttle"))
    gpu->throttle = strtoull(rest, NULL, 0);
  else if (!strcmp(key, "watts") && gpu->points < MOST_POINTS)
    gpu->at_ms[gpu->points] = a, gpu->watts[gpu->points++] = b;
}

static void script_line(char* line) {
  int n = 0, used = 0;
  char key[32];
  line[strcspn(line, "#\n")] = '\0';
  if (!strncmp(line, "return ", 7)) add_rule(rules, &rule_count, line + 7);
  if (sscanf(line, "gpu %d %31s %n", &n, key, &used) < 2 || n < 0 || n >= MOST_GPUS) return;
  if (!gpus[n].present) set_defaults(&gpus[n], n);
  gpu_line(&gpus[n], key, line + used);
}

static void load_script(void) {
  const char* path = getenv("FAKE_NVML_SCRIPT");
  FILE* file = path ? fopen(path, "r") : NULL;
  char line[512];
  memset(gpus, 0, sizeof gpus);
  rule_count = 0;
  while (file && fgets(line, sizeof line, file)) script_line(line);
  if (file) fclose(file);
  origin_ms = clock_ms();
  loaded = 1;
}

static int ruled(const Rule* list, int count, const char* function, int otherwise) {
  for (int i = 0; i < count; ++i)
    if (!strcmp(list[i].function, function)) return list[i].code;
  return otherwise;
}

/* What a call for a GPU answers before it does anything. */
static int answer(const Gpu* gpu, const char* function) {
  if (!users) return 1;
  if (!gpu) return INVALID;
  if (gpu->lost_ms >= 0 && now_ms() >= gpu->lost_ms) return LOST;
  return ruled(gpu->rule, gpu->rules, function, OK);
}

/* Millijoules burnt from 0 to t: watts times milliseconds. */
static double burnt_mj(const Gpu* gpu, double t) {
  double sum = 0;
  for (int i = 0; i < gpu->points; ++i) {
    const double begin = gpu->at_ms[i], end = i + 1 < gpu->points && gpu->at_ms[i + 1] < t ? gpu->at_ms[i + 1] : t;
    if (end > begin) sum += gpu->watts[i] * (end - begin);
  }
  return sum;
}

static double watts_at(const Gpu* gpu, double t) {
  double watts = 0;
  for (int i = 0; i < gpu->points && gpu->at_ms[i] <= t; ++i) watts = gpu->watts[i];
  return watts;
}

/* The time of the last update: what a reader sees is this old. */
static double shown_ms(const Gpu* gpu) {
  const double now = now_ms();
  return gpu->update_ms > 0 ? gpu->update_ms * (double)(long long)(now / gpu->update_ms) : now;
}

void fake_nvml_set_time_ms(double t) { fixed_ms = t; }

int nvmlInit_v2(void) {
  if (!loaded) load_script();
  const int code = ruled(rules, rule_count, "nvmlInit_v2", OK);
  if (code == OK) ++users;
  return code;
}
int nvmlShutdown(void) {
  if (!users) return 1;
  --users;
  return OK;
}
int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = 0;
  for (int i = 0; i < MOST_GPUS; ++i)
    if (gpus[i].present) *count = (unsigned)i + 1;
  return ruled(rules, rule_count, "nvmlDeviceGetCount_v2", OK);
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  if (index >= MOST_GPUS || !gpus[index].present) return INVALID;
  *device = &gpus[index];
  return answer(&gpus[index], "nvmlDeviceGetHandleByIndex_v2");
}
int nvmlDeviceGetName(void* device, char* text, unsigned size) {
  const Gpu* gpu = device;
  snprintf(text, size, "%s", gpu->name);
  return answer(gpu, "nvmlDeviceGetName");
}
int nvmlDeviceGetUUID(void* device, char* text, unsigned size) {
  const Gpu* gpu = device;
  snprintf(text, size, "%s", gpu->uuid);
  return answer(gpu, "nvmlDeviceGetUUID");
}
int nvmlDeviceGetPowerUsage(void* device, unsigned* milliwatts) {
  const Gpu* gpu = device;
  const double t = shown_ms(gpu), begin = gpu->window_ms > 0 && t > gpu->window_ms ? t - gpu->window_ms : 0;
  const double mean = gpu->window_ms > 0 && t > begin ? (burnt_mj(gpu, t) - burnt_mj(gpu, begin)) / (t - begin) : watts_at(gpu, t);
  *milliwatts = (unsigned)(mean * 1e3 + 0.5);
  return answer(gpu, "nvmlDeviceGetPowerUsage");
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
int nvmlDeviceGetTotalEnergyConsumption(void* device, unsigned long long* millijoules) {
  const Gpu* gpu = device;
  const double t = shown_ms(gpu);
  const int was_reset = gpu->reset_ms >= 0 && t >= gpu->reset_ms;
  *millijoules = was_reset ? (unsigned long long)(burnt_mj(gpu, t) - burnt_mj(gpu, gpu->reset_ms))
                           : gpu->base_mj + (unsigned long long)burnt_mj(gpu, t);
  const int code = answer(gpu, "nvmlDeviceGetTotalEnergyConsumption");
  return code == OK && !gpu->has_counter ? NOT_SUPPORTED : code;
}
int nvmlDeviceGetArchitecture(void* device, unsigned* arch) {
  *arch = ((const Gpu*)device)->arch;
  return answer(device, "nvmlDeviceGetArchitecture");
}
int nvmlDeviceGetCudaComputeCapability(void* device, int* major, int* minor) {
  *major = ((const Gpu*)device)->cc_major;
  *minor = ((const Gpu*)device)->cc_minor;
  return answer(device, "nvmlDeviceGetCudaComputeCapability");
}
int nvmlDeviceGetPowerManagementLimitConstraints(void* device, unsigned* least, unsigned* greatest) {
  *least = ((const Gpu*)device)->limit_least;
  *greatest = ((const Gpu*)device)->limit_greatest;
  return answer(device, "nvmlDeviceGetPowerManagementLimitConstraints");
}
int nvmlDeviceGetUtilizationRates(void* device, unsigned* gpu_and_memory) {
  gpu_and_memory[0] = gpu_and_memory[1] = ((const Gpu*)device)->utilisation;
  return answer(device, "nvmlDeviceGetUtilizationRates");
}
int nvmlDeviceGetMemoryInfo(void* device, unsigned long long* total_free_used) {
  const Gpu* gpu = device;
  total_free_used[0] = gpu->memory_total;
  total_free_used[1] = gpu->memory_total - gpu->memory_used;
  total_free_used[2] = gpu->memory_used;
  return answer(gpu, "nvmlDeviceGetMemoryInfo");
}
int nvmlDeviceGetClockInfo(void* device, int domain, unsigned* megahertz) {
  *megahertz = ((const Gpu*)device)->clock;
  return domain == 1 ? answer(device, "nvmlDeviceGetClockInfo") : INVALID;
}
int nvmlDeviceGetCurrentClocksEventReasons(void* device, unsigned long long* bits) {
  *bits = ((const Gpu*)device)->throttle;
  return answer(device, "nvmlDeviceGetCurrentClocksEventReasons");
}
#endif
