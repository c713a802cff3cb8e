/* Power limits of the stand-in for libnvidia-ml.so.1. A real card keeps what was set whoever set it: here a file beside the script does. */
#include "fake_nvml.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#ifndef FAKE_NVML_MINIMAL

static void path_of(const Gpu* gpu, char* path, size_t size) {
  const char* script = getenv("FAKE_NVML_SCRIPT");
  snprintf(path, size, "%s.limit.%u", script ? script : "/dev/null", gpu->number);
}

static unsigned requested(const Gpu* gpu) {
  char path[512];
  unsigned milliwatts = gpu->limit_standard;
  path_of(gpu, path, sizeof path);
  FILE* file = fopen(path, "re");
  if (!file) return milliwatts;
  if (fscanf(file, "%u", &milliwatts) != 1) milliwatts = gpu->limit_standard;
  fclose(file);
  return milliwatts;
}

static int keep(const Gpu* gpu, unsigned milliwatts) {
  char path[512];
  path_of(gpu, path, sizeof path);
  FILE* file = fopen(path, "we");
  if (!file) return 999;
  fprintf(file, "%u\n", milliwatts);
  return fclose(file) == 0 ? OK : 999;
}

/* The least of all that limit it: also what came out of band, from a management controller. */
int nvmlDeviceGetEnforcedPowerLimit(void* device, unsigned* milliwatts) {
  Gpu* gpu = NULL;
  const int code = fake_enter(device, "nvmlDeviceGetEnforcedPowerLimit", &gpu);
  if (code != OK) return fake_leave(code);
  *milliwatts = requested(gpu);
  if (gpu->limit_out_of_band && gpu->limit_out_of_band < *milliwatts) *milliwatts = gpu->limit_out_of_band;
  return fake_leave(OK);
}

int nvmlDeviceGetPowerManagementLimit(void* device, unsigned* milliwatts) {
  Gpu* gpu = NULL;
  const int code = fake_enter(device, "nvmlDeviceGetPowerManagementLimit", &gpu);
  if (code == OK) *milliwatts = requested(gpu);
  return fake_leave(code);
}
int nvmlDeviceGetPowerManagementDefaultLimit(void* device, unsigned* milliwatts) {
  Gpu* gpu = NULL;
  const int code = fake_enter(device, "nvmlDeviceGetPowerManagementDefaultLimit", &gpu);
  if (code == OK) *milliwatts = gpu->limit_standard;
  return fake_leave(code);
}
int nvmlDeviceSetPowerManagementLimit(void* device, unsigned milliwatts) {
  Gpu* gpu = NULL;
  const int code = fake_enter(device, "nvmlDeviceSetPowerManagementLimit", &gpu);
  if (code != OK) return fake_leave(code);
  if (geteuid() != 0) return fake_leave(NO_PERMISSION);
  if (milliwatts < gpu->limit_least || milliwatts > gpu->limit_greatest) return fake_leave(INVALID);
  return fake_leave(keep(gpu, milliwatts));
}
#endif
