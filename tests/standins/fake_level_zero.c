/* A scripted stand-in for libze_loader.so.1; the script is FAKE_LEVEL_ZERO_SCRIPT (fake_cards.h tells its words). As the
 * loader 1.8 it has no zesInit: Sysman answers only where ZES_ENABLE_SYSMAN was 1 when zeInit was called. A card with
 * `tiles` has a domain for each of two tiles beside its own; with "return card_domain 1" the tiles alone. */
#include "fake_cards.h"

#define NO_FEATURE 0x78000003u
#define LOST 0x70000001u
#define UNINITIALIZED 0x78000001u

static int sysman;

unsigned zeInit(uint32_t flags) {
  const char* enabled = getenv("ZES_ENABLE_SYSMAN");
  (void)flags;
  cards_load("FAKE_LEVEL_ZERO_SCRIPT");
  sysman = enabled && !strcmp(enabled, "1");
  return (unsigned)ruled(rules, rule_count, "zeInit", cards_count() ? 0 : UNINITIALIZED);
}
unsigned zeDriverGet(uint32_t* count, void** drivers) {
  if (drivers && *count) drivers[0] = &rules;
  *count = 1;
  return 0;
}
static unsigned list(uint32_t* count, void** to, uint32_t have, void* first, size_t stride) {
  for (uint32_t i = 0; to && i < *count && i < have; ++i) to[i] = (char*)first + i * stride;
  *count = have;
  return sysman ? 0 : UNINITIALIZED;
}
unsigned zeDeviceGet(void* driver, uint32_t* count, void** devices) {
  (void)driver;
  return list(count, devices, (uint32_t)cards_count(), cards, sizeof cards[0]);
}
static unsigned answer(const Card* card, const char* function) {
  return sysman ? (unsigned)card_answer(card, function, LOST) : UNINITIALIZED;
}
unsigned zesDeviceGetProperties(void* device, char* properties) {
  if (*(uint32_t*)properties != 0x1) return 0x78000002u;
  snprintf(properties + 16 + 112, 256, "%s", ((const Card*)device)->name); /* core.name */
  return answer(device, "zesDeviceGetProperties");
}
unsigned zesDevicePciGetProperties(void* device, uint32_t* properties) {
  unsigned domain = 0, bus = 0, slot = 0, function = 0;
  if (properties[0] != 0x2) return 0x78000002u;
  sscanf(((const Card*)device)->address, "%x:%x:%x.%x", &domain, &bus, &slot, &function);
  properties[4] = domain, properties[5] = bus, properties[6] = slot, properties[7] = function;
  return answer(device, "zesDevicePciGetProperties");
}

/* A power domain's handle is a byte of its card's name field: the card and which part of it. */
static const Card* card_of(const void* handle, int* part) {
  const size_t offset = (size_t)((const char*)handle - (const char*)cards);
  *part = (int)(offset % sizeof cards[0]);
  return &cards[offset / sizeof cards[0]];
}
unsigned zesDeviceEnumPowerDomains(void* device, uint32_t* count, void** domains) {
  const Card* card = device;
  const uint32_t first = (uint32_t)ruled(card->rule, card->rules, "card_domain", 0), have = card->tile_w[0] > 0 ? 3 : 1;
  return list(count, domains, have - first, (char*)device + first, 1);
}
unsigned zesPowerGetProperties(void* domain, uint32_t* properties) {
  int part = 0;
  const Card* card = card_of(domain, &part);
  uint32_t* extension = *(uint32_t**)(properties + 2);
  if (properties[0] != 0xd) return 0x78000002u;
  *(uint8_t*)(properties + 4) = part > 0;
  properties[5] = part > 0 ? (uint32_t)part - 1 : 0;
  properties[9] = card->cap_w > 0 ? (uint32_t)(card->cap_w * 1e3) : 0xFFFFFFFFu;
  if (extension && extension[0] == 0x28) extension[4] = part > 0 ? 0 : 1;
  return answer(card, "zesPowerGetProperties");
}
unsigned zesPowerGetEnergyCounter(void* domain, uint64_t* counter) {
  int part = 0;
  const Card* card = card_of(domain, &part);
  counter[0] = part == 0 ? count_now(card) : (uint64_t)(card->tile_w[part - 1] * now_ms() * 1e3);
  counter[1] = (uint64_t)(now_ms() * 1e3);
  return answer(card, "zesPowerGetEnergyCounter");
}
unsigned zesDeviceEnumEngineGroups(void* device, uint32_t* count, void** engines) { return list(count, engines, 1, device, 1); }
unsigned zesEngineGetProperties(void* engine, uint32_t* properties) {
  if (properties[0] != 0x5) return 0x78000002u;
  properties[4] = 0, *(uint8_t*)(properties + 5) = 0;
  return answer(engine, "zesEngineGetProperties");
}
unsigned zesEngineGetActivity(void* engine, uint64_t* stats) {
  stats[1] = (uint64_t)(now_ms() * 1e3);
  stats[0] = stats[1] * ((const Card*)engine)->busy / 100;
  return answer(engine, "zesEngineGetActivity");
}
unsigned zesDeviceEnumMemoryModules(void* device, uint32_t* count, void** modules) { return list(count, modules, 1, device, 1); }
unsigned zesMemoryGetState(void* module, uint64_t* state) {
  const Card* card = module;
  if (*(uint32_t*)state != 0x1e) return 0x78000002u;
  state[3] = card->memory_total - card->memory_used, state[4] = card->memory_total;
  return answer(card, "zesMemoryGetState");
}
