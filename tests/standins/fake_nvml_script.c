/* Reads the script of the stand-in for libnvidia-ml.so.1 (its language: fake_nvml.c) and computes what its GPUs burn. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "fake_nvml.h"

static Machine machine;
static int loaded;
static double fixed_ms = -1, first_load_ms, looked_ms;
static struct timespec changed;
static off_t seen_size;
static ino_t seen_inode;

static double clock_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

double fake_now_ms(void) {
  if (fixed_ms >= 0) return fixed_ms;
  return clock_ms() - (machine.origin_ms > 0 ? machine.origin_ms : first_load_ms);
}
void fake_nvml_set_time_ms(double t) { fixed_ms = t; }

static void set_defaults(Gpu* gpu, int n) {
  gpu->present = gpu->has_counter = 1;
  snprintf(gpu->name, sizeof gpu->name, "Stand-in GPU");
  snprintf(gpu->uuid, sizeof gpu->uuid, "GPU-00000000-0000-0000-0000-%012d", n);
  gpu->arch = 9, gpu->cc_major = 9, gpu->update_ms = gpu->counter_update_ms = 100, gpu->lost_ms = gpu->reset_ms = gpu->back_ms = -1;
  gpu->limit_least = 200000, gpu->limit_greatest = gpu->limit_standard = 700000, gpu->number = (unsigned)n, gpu->clock = 1980;
  gpu->memory_total = 80ULL << 30;
  gpu->gain = gpu->counter_gain = 1;
  gpu->pci_bus = (unsigned)n + 1;
}

static void add_rule(Rule* list, int* count, const char* text, double delay_ms) {
  Rule rule = {"", 0, 0, INFINITY, delay_ms};
  double number = 0;
  if (*count == MOST_RULES || sscanf(text, "%63s %lf %lf %lf", rule.function, &number, &rule.from_ms, &rule.to_ms) < 2) return;
  if (delay_ms >= 0)
    rule.delay_ms = number;
  else
    rule.code = (int)number;
  list[(*count)++] = rule;
}

static void add_point(Gpu* gpu, double at, double high, double low, double period, double share) {
  if (gpu->points == MOST_POINTS) return;
  Point point = {at, high, low, period, share, 0};
  gpu->point[gpu->points++] = point;
}

/* "field 186/0 code 3", "field 186 250000", "rate 197 1000000": a scope that is left out is 0, "all" is every link. */
static void add_field(Gpu* gpu, const char* text, int rate) {
  Field field = {0, 0, 0, 0, 0};
  char where[32] = "", first[32] = "", second[32] = "";
  if (gpu->fields == MOST_FIELDS || sscanf(text, "%31s %31s %31s", where, first, second) < 2) return;
  field.id = (unsigned)strtoul(where, NULL, 10);
  const char* slash = strchr(where, '/');
  if (slash) field.scope = !strcmp(slash + 1, "all") ? ~0U : (unsigned)strtoul(slash + 1, NULL, 10);
  if (!strcmp(first, "code"))
    field.code = atoi(second);
  else if (rate)
    field.per_s = strtod(first, NULL);
  else
    field.value = strtod(first, NULL);
  gpu->field[gpu->fields++] = field;
}

static void add_slice(Gpu* gpu, const char* text) {
  Slice slice = {gpu, 0, 0, "", 0, 0};
  double total = 0, used = 0;
  gpu->partitioned = 1;
  if (gpu->slices == MOST_SLICES ||
      sscanf(text, "%u %u %95s %lf %lf", &slice.gpu_instance, &slice.compute_instance, slice.uuid, &total, &used) < 3)
    return;
  slice.memory_total = (unsigned long long)total << 20, slice.memory_used = (unsigned long long)used << 20;
  gpu->slice[gpu->slices++] = slice;
}

static void add_process(Gpu* gpu, const char* text) {
  Process p = {0, 0, 0, 0, 0, ~0U, ~0U, 0};
  double mebibytes = 0;
  if (gpu->processes == MOST_PROCESSES || sscanf(text, "%u %lf %u %u %u %u %u %u", &p.pid, &mebibytes, &p.sm, &p.memory, &p.encoder,
                                                 &p.decoder, &p.gpu_instance, &p.compute_instance) < 2)
    return;
  p.bytes = (unsigned long long)mebibytes << 20;
  gpu->process[gpu->processes++] = p;
}

static void add_metric(Gpu* gpu, const char* text, int of_slice) {
  Metric metric = {~0U, 0, 0};
  const int got = of_slice ? sscanf(text, "%u %u %lf", &metric.slice, &metric.id, &metric.value)
                           : 1 + sscanf(text, "%u %lf", &metric.id, &metric.value);
  if (gpu->metrics < MOST_METRICS && got == 3) gpu->metric[gpu->metrics++] = metric;
}

static int list_line(Gpu* gpu, const char* key, const char* rest) {
  if (!strcmp(key, "return"))
    add_rule(gpu->rule, &gpu->rules, rest, -1);
  else if (!strcmp(key, "delay"))
    add_rule(gpu->rule, &gpu->rules, rest, 0);
  else if (!strcmp(key, "field") || !strcmp(key, "rate"))
    add_field(gpu, rest, *key == 'r');
  else if (!strcmp(key, "mig"))
    add_slice(gpu, rest);
  else if (!strcmp(key, "process"))
    add_process(gpu, rest);
  else if (!strcmp(key, "gpm") || !strcmp(key, "gpm_mig"))
    add_metric(gpu, rest, key[3] != '\0');
  else
    return 0;
  return 1;
}

static int text_line(Gpu* gpu, const char* key, const char* rest) {
  if (!strcmp(key, "name"))
    snprintf(gpu->name, sizeof gpu->name, "%s", rest);
  else if (!strcmp(key, "uuid"))
    snprintf(gpu->uuid, sizeof gpu->uuid, "%s", rest);
  else if (!strcmp(key, "counter"))
    gpu->has_counter = !strncmp(rest, "yes", 3);
  else if (!strcmp(key, "pci"))
    sscanf(rest, "%x:%x:%x", &gpu->pci_domain, &gpu->pci_bus, &gpu->pci_device);
  else if (!strcmp(key, "base"))
    gpu->base_mj = strtoull(rest, NULL, 10);
  else if (!strcmp(key, "throttle"))
    gpu->throttle = strtoull(rest, NULL, 0);
  else
    return 0;
  return 1;
}

static void number_line(Gpu* gpu, const char* key, const char* rest) {
  double a = 0, b = 0, c = 0, d = 0, e = 0;
  const int numbers = sscanf(rest, "%lf %lf %lf %lf %lf", &a, &b, &c, &d, &e);
  if (numbers < 1) return;
  if (!strcmp(key, "arch")) gpu->arch = (unsigned)a;
  if (!strcmp(key, "cc")) gpu->cc_major = (int)a, gpu->cc_minor = (int)b;
  if (!strcmp(key, "limit")) {
    gpu->limit_least = (unsigned)(a * 1e3), gpu->limit_greatest = (unsigned)(b * 1e3), gpu->limit_out_of_band = (unsigned)(d * 1e3);
    gpu->limit_standard = numbers > 2 ? (unsigned)(c * 1e3) : gpu->limit_greatest;
  }
  if (!strcmp(key, "reset")) gpu->reset_ms = a;
  if (!strcmp(key, "update")) gpu->update_ms = gpu->counter_update_ms = a;
  if (!strcmp(key, "counter_update")) gpu->counter_update_ms = a;
  if (!strcmp(key, "window")) gpu->window_ms = a;
  if (!strcmp(key, "instant")) gpu->instant_ms = a;
  if (!strcmp(key, "lost")) gpu->lost_ms = a, gpu->back_ms = numbers > 1 ? b : -1;
  if (!strcmp(key, "utilisation")) gpu->utilisation = (unsigned)a;
  if (!strcmp(key, "memory")) {
    gpu->memory_total = (unsigned long long)a << 20, gpu->memory_used = (unsigned long long)b << 20;
    gpu->memory_reserved = (unsigned long long)c << 20;
  }
  if (!strcmp(key, "clock")) gpu->clock = (unsigned)a;
  if (!strcmp(key, "gain")) gpu->gain = a, gpu->offset_w = b;
  if (!strcmp(key, "counter_gain")) gpu->counter_gain = a;
  if (!strcmp(key, "module")) gpu->is_module = 1, gpu->module_w = a, gpu->own_counter = b != 0;
  if (!strcmp(key, "memory_watts")) gpu->memory_w = a;
  if (!strcmp(key, "watts")) add_point(gpu, a, b, 0, 0, 1);
  if (!strcmp(key, "duty")) add_point(gpu, a, c, d, b, e);
}

static void script_line(char* line) {
  int n = 0, used = 0;
  char key[32];
  line[strcspn(line, "#\n")] = '\0';
  if (!strncmp(line, "return ", 7)) add_rule(machine.rule, &machine.rules, line + 7, -1);
  if (!strncmp(line, "delay ", 6)) add_rule(machine.rule, &machine.rules, line + 6, 0);
  if (!strncmp(line, "driver ", 7)) snprintf(machine.driver, sizeof machine.driver, "%.79s", line + 7);
  if (!strncmp(line, "origin ", 7)) machine.origin_ms = strtod(line + 7, NULL);
  if (sscanf(line, "gpu %d %31s %n", &n, key, &used) < 2 || n < 0 || n >= MOST_GPUS) return;
  Gpu* gpu = &machine.gpu[n];
  if (!gpu->present) set_defaults(gpu, n);
  if (!list_line(gpu, key, line + used) && !text_line(gpu, key, line + used)) number_line(gpu, key, line + used);
}

static double within(const Point* point, double length) {
  if (length <= 0) return 0;
  if (point->period_ms <= 0) return point->high * length;
  const double whole = floor(length / point->period_ms), rest = length - whole * point->period_ms, on = point->share * point->period_ms;
  const double high = whole * on + (rest < on ? rest : on);
  return point->high * high + point->low * (length - high);
}

static void load_script(const char* path) {
  FILE* file = path ? fopen(path, "r") : NULL;
  char line[512];
  memset(&machine, 0, sizeof machine);
  snprintf(machine.driver, sizeof machine.driver, "550.54.15");
  while (file && fgets(line, sizeof line, file)) script_line(line);
  if (file) fclose(file);
  for (int n = 0; n < MOST_GPUS; ++n)
    for (int i = 1; i < machine.gpu[n].points; ++i) {
      Point *before = &machine.gpu[n].point[i - 1], *point = &machine.gpu[n].point[i];
      point->burnt_before = before->burnt_before + within(before, point->at_ms - before->at_ms);
    }
}

/* The file is looked at once in 10 ms; where time is set by hand, each time. */
Machine* fake_machine(void) {
  const double now = clock_ms();
  if (loaded && fixed_ms < 0 && now - looked_ms < 10) return &machine;
  looked_ms = now;
  const char* path = getenv("FAKE_NVML_SCRIPT");
  struct stat is;
  const int there = path && stat(path, &is) == 0;
  const int same = loaded && there && is.st_size == seen_size && is.st_ino == seen_inode && is.st_mtim.tv_sec == changed.tv_sec &&
                   is.st_mtim.tv_nsec == changed.tv_nsec;
  if (same || (loaded && !there)) return &machine;
  if (there) changed = is.st_mtim, seen_size = is.st_size, seen_inode = is.st_ino;
  load_script(path);
  if (!loaded) first_load_ms = now;
  loaded = 1;
  return &machine;
}

static const Point* point_at(const Gpu* gpu, double t) {
  int low = 0, high = gpu->points;
  while (low < high) {
    const int middle = (low + high) / 2;
    if (gpu->point[middle].at_ms <= t)
      low = middle + 1;
    else
      high = middle;
  }
  return low ? &gpu->point[low - 1] : NULL;
}

double fake_burnt(const Gpu* gpu, double t) {
  const Point* point = point_at(gpu, t);
  return point ? point->burnt_before + within(point, t - point->at_ms) : 0;
}

static double shown(double update_ms) {
  const double now = fake_now_ms();
  return update_ms > 0 ? update_ms * floor(now / update_ms) : now;
}

double fake_power(const Gpu* gpu, double window_ms) {
  const double t = shown(gpu->update_ms), width = window_ms > 0 ? (window_ms < t ? window_ms : t) : 0;
  const double short_time = 1e-3, length = width > 0 ? width : short_time;
  const double mean =
      width > 0 ? (fake_burnt(gpu, t) - fake_burnt(gpu, t - length)) / length : (fake_burnt(gpu, t + length) - fake_burnt(gpu, t)) / length;
  return mean * gpu->gain + (mean > 0 ? gpu->offset_w : 0);
}

unsigned long long fake_counter_mj(const Gpu* gpu, int of_module) {
  const double t = shown(gpu->counter_update_ms);
  const int was_reset = gpu->reset_ms >= 0 && t >= gpu->reset_ms;
  const double from = was_reset ? gpu->reset_ms : 0;
  const double burnt = (fake_burnt(gpu, t) - fake_burnt(gpu, from)) * gpu->counter_gain + (of_module ? gpu->module_w * (t - from) : 0);
  return (was_reset ? 0 : gpu->base_mj) + (unsigned long long)(burnt + 1e-6);
}

int fake_rule(const Rule* rules, int count, const char* function, int otherwise, double* delay_ms) {
  int code = otherwise;
  *delay_ms = 0;
  for (int i = 0; i < count; ++i) {
    const Rule* rule = &rules[i];
    if (strcmp(rule->function, function) != 0 || fake_now_ms() < rule->from_ms || fake_now_ms() >= rule->to_ms) continue;
    if (rule->delay_ms > 0)
      *delay_ms = rule->delay_ms;
    else
      code = rule->code;
  }
  return code;
}

void fake_sleep(double ms) {
  const struct timespec wait = {(time_t)(ms / 1e3), (long)(fmod(ms, 1e3) * 1e6)};
  nanosleep(&wait, NULL);
}

const Field* fake_field(const Gpu* gpu, unsigned id, unsigned scope) {
  for (int i = 0; i < gpu->fields; ++i)
    if (gpu->field[i].id == id && gpu->field[i].scope == scope) return &gpu->field[i];
  return NULL;
}
