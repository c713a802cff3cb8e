/* A scripted stand-in for libamd_smi.so, for tests on machines without an AMD GPU. The script is FAKE_AMDSMI_SCRIPT
 * (fake_cards.h tells its words); "version YEAR" is the environment variable FAKE_AMDSMI_VERSION, which also decides how
 * amdsmi_get_power_info lays out what it says: two words up to 24, two words behind one of 64 bits from 25 on. */
#include "fake_cards.h"

enum { OK = 0, INVALID = 1, NOT_FOUND = 31, DRIVER_NOT_LOADED = 34 };

static unsigned version(void) {
  const char* text = getenv("FAKE_AMDSMI_VERSION");
  return text ? (unsigned)atoi(text) : 26;
}

unsigned amdsmi_init(uint64_t flags) {
  cards_load("FAKE_AMDSMI_SCRIPT");
  return flags == 2 ? (unsigned)ruled(rules, rule_count, "amdsmi_init", OK) : INVALID;
}
unsigned amdsmi_get_lib_version(unsigned* numbers) {
  numbers[0] = version(), numbers[1] = numbers[2] = numbers[3] = 0;
  *(const char**)(numbers + 4) = "stand-in";
  return OK;
}
/* A socket for each card, with one processor in it. */
unsigned amdsmi_get_socket_handles(uint32_t* count, void** handles) {
  const uint32_t have = (uint32_t)cards_count();
  for (uint32_t i = 0; handles && i < *count && i < have; ++i) handles[i] = &cards[i];
  *count = have;
  return OK;
}
unsigned amdsmi_get_processor_handles(void* socket, uint32_t* count, void** handles) {
  if (handles && *count > 0) handles[0] = socket;
  *count = 1;
  return OK;
}
static unsigned answer(const void* card, const char* function) { return card ? (unsigned)card_answer(card, function, NOT_FOUND) : INVALID; }

unsigned amdsmi_get_gpu_device_bdf(void* card, uint64_t* bits) {
  unsigned domain = 0, bus = 0, device = 0, function = 0;
  sscanf(((const Card*)card)->address, "%x:%x:%x.%x", &domain, &bus, &device, &function);
  *bits = (uint64_t)domain << 16 | bus << 8 | device << 3 | function;
  return answer(card, "amdsmi_get_gpu_device_bdf");
}
unsigned amdsmi_get_gpu_asic_info(void* card, char* info) {
  memset(info, 0, 512);
  snprintf(info, 256, "%s", ((const Card*)card)->name);
  return answer(card, "amdsmi_get_gpu_asic_info");
}
unsigned amdsmi_get_energy_count(void* card, uint64_t* count, float* resolution, uint64_t* timestamp) {
  *count = count_now(card);
  *resolution = (float)((const Card*)card)->unit_uj;
  *timestamp = (uint64_t)(now_ms() * 1e6);
  return answer(card, "amdsmi_get_energy_count");
}
unsigned amdsmi_get_power_info(void* card, uint32_t* info) {
  const uint32_t watts = (uint32_t)(watts_now(card) + 0.5);
  const uint32_t old[] = {0xFFFFFFFFu, watts, 800, 700, 900, 500};       /* MI200 and before: an average alone */
  const uint32_t new[] = {watts, 0, watts, 0xFFFFFFFFu, 800, 700, 900, 500}; /* MI300: a present power alone */
  memcpy(info, version() >= 25 ? new : old, version() >= 25 ? sizeof new : sizeof old);
  return answer(card, "amdsmi_get_power_info");
}
unsigned amdsmi_get_power_cap_info(void* card, uint32_t sensor, uint64_t* info) {
  const uint64_t cap = (uint64_t)(((const Card*)card)->cap_w * 1e6);
  const uint64_t all[] = {cap, cap, 0, 0, cap, 0, 0, 0};
  memcpy(info, all, sizeof all);
  return sensor == 0 && cap ? answer(card, "amdsmi_get_power_cap_info") : INVALID;
}
unsigned amdsmi_get_gpu_activity(void* card, uint32_t* usage) {
  memset(usage, 0, 64);
  usage[0] = ((const Card*)card)->busy;
  return answer(card, "amdsmi_get_gpu_activity");
}
unsigned amdsmi_get_gpu_memory_usage(void* card, uint32_t type, uint64_t* bytes) {
  *bytes = ((const Card*)card)->memory_used;
  return type == 0 ? answer(card, "amdsmi_get_gpu_memory_usage") : INVALID;
}
unsigned amdsmi_get_gpu_memory_total(void* card, uint32_t type, uint64_t* bytes) {
  *bytes = ((const Card*)card)->memory_total;
  return type == 0 ? answer(card, "amdsmi_get_gpu_memory_total") : INVALID;
}
