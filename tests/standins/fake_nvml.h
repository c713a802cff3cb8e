/* The model behind the stand-in for libnvidia-ml.so.1: GPUs as a script tells them, and what they burn over time. */
#pragma once

#include <stddef.h>

enum {
  OK = 0,
  UNINITIALIZED = 1,
  INVALID = 2,
  NOT_SUPPORTED = 3,
  NO_PERMISSION = 4,
  NOT_FOUND = 6,
  INSUFFICIENT_SIZE = 7,
  LOST = 15,
  REFUSES_ALL = -1
};
enum { MOST_GPUS = 16, MOST_POINTS = 4096, MOST_RULES = 64, MOST_FIELDS = 64, MOST_SLICES = 16, MOST_PROCESSES = 128, MOST_METRICS = 64 };

typedef struct {
  char function[64];
  int code;
  double from_ms, to_ms, delay_ms;
} Rule;

/* From `at_ms` on: `high` watts for `share` of each period, then `low`. A constant power has period 0. */
typedef struct {
  double at_ms, high, low, period_ms, share, burnt_before; /* watts x ms = millijoules */
} Point;

typedef struct {
  unsigned id, scope;
  int code;            /* not 0: what the element answers */
  double value, per_s; /* value + per_s * seconds */
} Field;

struct Gpu;
typedef struct {
  struct Gpu* parent;
  unsigned gpu_instance, compute_instance;
  char uuid[96];
  unsigned long long memory_total, memory_used;
} Slice;

typedef struct {
  unsigned pid, sm, memory, encoder, decoder, gpu_instance, compute_instance;
  unsigned long long bytes;
} Process;

typedef struct {
  unsigned slice, id; /* slice ~0: the whole GPU */
  double value;
} Metric;

typedef struct Gpu {
  int present, has_counter, cc_major, cc_minor, points, rules, fields, slices, processes, metrics, partitioned, is_module, own_counter;
  char name[96], uuid[96];
  unsigned arch, limit_least, limit_greatest, limit_standard, limit_out_of_band, number, utilisation, clock, pci_domain, pci_bus,
      pci_device;
  double update_ms, counter_update_ms, window_ms, instant_ms, lost_ms, back_ms, reset_ms, gain, offset_w, counter_gain, module_w, memory_w;
  unsigned long long base_mj, memory_total, memory_used, memory_reserved, throttle;
  Point point[MOST_POINTS];
  Rule rule[MOST_RULES];
  Field field[MOST_FIELDS];
  Slice slice[MOST_SLICES];
  Process process[MOST_PROCESSES];
  Metric metric[MOST_METRICS];
} Gpu;

typedef struct {
  Gpu gpu[MOST_GPUS];
  Rule rule[MOST_RULES];
  int rules;
  char driver[80];
  double origin_ms; /* CLOCK_MONOTONIC; 0: the first load */
} Machine;

/* The machine as the script says now: read again where the file has changed. */
Machine* fake_machine(void);
double fake_now_ms(void);

/* Watts x ms burnt from 0 to t, and watts at t. */
double fake_burnt(const Gpu* gpu, double t);
/* The mean shown by a sensor with this window at the last update before now; window 0: an instant. */
double fake_power(const Gpu* gpu, double window_ms);
unsigned long long fake_counter_mj(const Gpu* gpu, int of_module);
/* What a function answers by the rules that hold now: else `otherwise`; `delay_ms`: how long it takes. */
int fake_rule(const Rule* rules, int count, const char* function, int otherwise, double* delay_ms);
const Field* fake_field(const Gpu* gpu, unsigned id, unsigned scope);
void fake_sleep(double ms);

/* What a call for a GPU or a slice answers before it does anything. Returns with the lock held, which fake_leave() gives back. */
int fake_enter(const void* handle, const char* function, Gpu** gpu);
int fake_leave(int code);
Slice* fake_slice_of(const void* handle); /* NULL: the handle is a whole GPU's */
unsigned fake_milliwatts(double watts);
