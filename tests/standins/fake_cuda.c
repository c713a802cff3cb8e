/* A stand-in for libcuda.so.1 that runs one kernel: burn(ns, out). While it runs, GPU 0 of the stand-in for libnvidia-ml.so.1 burns
 * FAKE_CUDA_WATTS (default 500) instead of FAKE_CUDA_IDLE_WATTS (default 80): both are written into that library's script, which must
 * say at which time of CLOCK_MONOTONIC it begins ("origin MS"). */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double busy_until_ms;

static double clock_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static double number_of(const char* name, double otherwise) { return getenv(name) ? strtod(getenv(name), NULL) : otherwise; }

static double origin_of(const char* path) {
  char line[512];
  double origin = 0;
  FILE* file = fopen(path, "r");
  while (file && fgets(line, sizeof line, file)) sscanf(line, "origin %lf", &origin);
  if (file) fclose(file);
  return origin;
}

int cuInit(unsigned flags) { return flags ? 1 : 0; }
int cuDeviceGet(int* device, int ordinal) {
  *device = ordinal;
  return ordinal ? 101 : 0;
}
int cuDevicePrimaryCtxRetain(void** context, int device) {
  *context = (void*)1;
  return device;
}
int cuCtxSetCurrent(void* context) { return context ? 0 : 201; }
int cuDeviceGetAttribute(int* value, int attribute, int device) {
  *value = attribute == 16 ? 132 : 0; /* multiprocessors */
  return device;
}
int cuModuleLoadData(void** module, const char* image) {
  *module = (void*)1;
  return strstr(image, ".entry burn(") ? 0 : 218; /* invalid PTX */
}
int cuModuleGetFunction(void** function, void* module, const char* name) {
  *function = module;
  return strcmp(name, "burn") == 0 ? 0 : 500;
}
int cuMemAlloc_v2(uint64_t* pointer, size_t bytes) {
  *pointer = 4096;
  return bytes ? 0 : 1;
}

int cuLaunchKernel(void* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared,
                   void* stream, void** parameters, void** extra) {
  const char* path = getenv("FAKE_NVML_SCRIPT");
  if (!function || !path || gx * gy * gz * bx * by * bz == 0 || shared || stream || extra) return 1;
  const double begin = clock_ms(), origin = origin_of(path), length = (double)*(uint64_t*)parameters[0] * 1e-6;
  busy_until_ms = begin + length;
  FILE* file = fopen(path, "a");
  if (!file) return 1;
  fprintf(file, "gpu 0 watts %.3f %g\ngpu 0 watts %.3f %g\n", begin - origin, number_of("FAKE_CUDA_WATTS", 500), busy_until_ms - origin,
          number_of("FAKE_CUDA_IDLE_WATTS", 80));
  fclose(file);
  return 0;
}
int cuCtxSynchronize(void) {
  const double left = busy_until_ms - clock_ms();
  const struct timespec wait = {(time_t)(left / 1e3), (long)((left - 1e3 * (double)(long)(left / 1e3)) * 1e6)};
  if (left > 0) nanosleep(&wait, NULL);
  return 0;
}
