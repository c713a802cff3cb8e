/* The stand-in for libnvidia-ml.so.1: elements of nvmlDeviceGetFieldValues, and profiling metrics (GPM). Older libraries have neither. */
#include <stdlib.h>

#include "fake_nvml.h"

#if !defined(FAKE_NVML_MINIMAL) && !defined(FAKE_NVML_OLD)
/* --- Fields --------------------------------------------------------------------------------------------------------- */
typedef struct {
  unsigned id, scope;
  long long time_us, latency_us;
  unsigned type;
  int code;
  union {
    unsigned number;
    unsigned long long wide;
  } value;
} FieldValue;

static void give_number(FieldValue* field, double milli) { field->type = 1, field->value.number = fake_milliwatts(milli); }
static void give_wide(FieldValue* field, unsigned long long value) { field->type = 3, field->value.wide = value; }

static int energy_field(const Gpu* gpu, FieldValue* field) {
  if (!gpu->has_counter || field->scope > 1 || (field->scope == 1 && !gpu->is_module)) return NOT_SUPPORTED;
  const int of_module = gpu->is_module && (field->id == 83 || field->scope == 1 || !gpu->own_counter);
  give_wide(field, fake_counter_mj(gpu, of_module));
  return OK;
}

static int power_field(const Gpu* gpu, FieldValue* field) {
  const int instant = field->id == 186, ga100 = gpu->cc_major == 8 && gpu->cc_minor == 0;
  const double watts = fake_power(gpu, instant ? gpu->instant_ms : gpu->window_ms);
  if (!instant && (gpu->arch < 7 || ga100)) return NOT_SUPPORTED;
  if (field->scope == 1 && !gpu->is_module) return NOT_SUPPORTED;
  if (field->scope == 2 && instant) return NOT_SUPPORTED;
  if (field->scope > 2) return INVALID;
  give_number(field, field->scope == 1 ? watts + gpu->module_w : field->scope == 2 ? gpu->memory_w : watts);
  return OK;
}

static int limit_field(const Gpu* gpu, FieldValue* field) {
  if (field->scope != 0) return NOT_SUPPORTED;
  give_number(field, (field->id == 187 ? gpu->limit_least : gpu->limit_greatest) * 1e-3);
  return OK;
}

static int give_field(const Gpu* gpu, FieldValue* field) {
  const Field* scripted = fake_field(gpu, field->id, field->scope);
  if (scripted && scripted->code) return scripted->code;
  if (scripted) {
    give_wide(field, (unsigned long long)(scripted->value + scripted->per_s * fake_now_ms() * 1e-3));
    return OK;
  }
  if (field->id == 83 || field->id == 191) return energy_field(gpu, field);
  if (field->id == 185 || field->id == 186) return power_field(gpu, field);
  if ((field->id >= 187 && field->id <= 190) || field->id == 192) return limit_field(gpu, field);
  return NOT_SUPPORTED;
}

int nvmlDeviceGetFieldValues(void* device, int count, FieldValue* fields) {
  Gpu* gpu = NULL;
  const int code = fake_enter(device, "nvmlDeviceGetFieldValues", &gpu);
  if (code != OK) return fake_leave(code);
  for (int i = 0; i < count; ++i) {
    const Field* scripted = fake_field(gpu, fields[i].id, fields[i].scope);
    if (scripted && scripted->code == REFUSES_ALL) return fake_leave(INVALID);
  }
  for (int i = 0; i < count; ++i) fields[i].code = fake_slice_of(device) ? NOT_SUPPORTED : give_field(gpu, &fields[i]);
  return fake_leave(OK);
}

/* --- Profiling ------------------------------------------------------------------------------------------------------ */
typedef struct {
  void* device;
  unsigned slice;
  double at_ms;
} GpmSample;
typedef struct {
  unsigned id;
  int code;
  double value;
  const char* texts[3];
} GpmMetric;
typedef struct {
  unsigned version, count;
  GpmSample *first, *second;
  GpmMetric metrics[1];
} GpmRequest;

int nvmlGpmQueryDeviceSupport(void* device, unsigned* version_supported) {
  Gpu* gpu = NULL;
  const int code = fake_enter(device, "nvmlGpmQueryDeviceSupport", &gpu);
  if (code == OK) version_supported[1] = gpu->metrics > 0;
  return fake_leave(code);
}
int nvmlGpmSampleAlloc(GpmSample** sample) {
  *sample = calloc(1, sizeof **sample);
  return *sample ? OK : 20;
}
int nvmlGpmSampleFree(GpmSample* sample) {
  free(sample);
  return OK;
}
static int take_sample(void* device, unsigned slice, const char* function, GpmSample* into) {
  Gpu* gpu = NULL;
  const int code = fake_enter(device, function, &gpu);
  const GpmSample sample = {device, slice, fake_now_ms()};
  if (code == OK) *into = sample;
  return fake_leave(code);
}
int nvmlGpmSampleGet(void* device, GpmSample* into) { return take_sample(device, ~0U, "nvmlGpmSampleGet", into); }
int nvmlGpmMigSampleGet(void* device, unsigned slice, GpmSample* into) { return take_sample(device, slice, "nvmlGpmMigSampleGet", into); }
int nvmlGpmMetricsGet(GpmRequest* request) {
  Gpu* gpu = NULL;
  if (request->version != 1) return 25;
  const int code = fake_enter(request->second->device, "nvmlGpmMetricsGet", &gpu);
  for (unsigned i = 0; code == OK && i < request->count; ++i) {
    GpmMetric* metric = &request->metrics[i];
    metric->code = NOT_SUPPORTED;
    for (int m = 0; m < gpu->metrics; ++m)
      if (gpu->metric[m].id == metric->id && gpu->metric[m].slice == request->second->slice)
        metric->code = OK, metric->value = gpu->metric[m].value;
  }
  return fake_leave(code);
}
#endif
