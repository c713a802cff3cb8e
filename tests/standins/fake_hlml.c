/* A scripted stand-in for libhlml.so, Habana's library; the script is FAKE_HLML_SCRIPT (fake_cards.h tells its words). The
 * counter's unit is a millijoule: "card N unit 1000". */
#include "fake_cards.h"

enum { OK = 0, INVALID = 2, ALREADY = 5, LOST = 11 };

static int started;

int hlml_init(void) {
  const int before = started;
  cards_load("FAKE_HLML_SCRIPT");
  started = 1;
  return (int)ruled(rules, rule_count, "hlml_init", before ? ALREADY : OK);
}
int hlml_device_get_count(unsigned* count) {
  *count = (unsigned)cards_count();
  return OK;
}
int hlml_device_get_handle_by_index(unsigned index, void** device) {
  if (index >= MOST_CARDS || !cards[index].present) return INVALID;
  *device = &cards[index];
  return OK;
}
static int answer(const void* card, const char* function) { return (int)card_answer(card, function, LOST); }
int hlml_device_get_name(void* card, char* name, unsigned size) {
  snprintf(name, size, "%s", ((const Card*)card)->name);
  return answer(card, "hlml_device_get_name");
}
int hlml_device_get_pci_info(void* card, char* info) {
  memset(info, 0, 52);
  snprintf(info + 4, 15, "%.14s", ((const Card*)card)->address);
  return answer(card, "hlml_device_get_pci_info");
}
int hlml_device_get_total_energy_consumption(void* card, unsigned long long* millijoules) {
  *millijoules = count_now(card);
  return answer(card, "hlml_device_get_total_energy_consumption");
}
int hlml_device_get_power_usage(void* card, unsigned* milliwatts) {
  *milliwatts = (unsigned)(watts_now(card) * 1e3 + 0.5);
  return answer(card, "hlml_device_get_power_usage");
}
int hlml_device_get_power_management_default_limit(void* card, unsigned* milliwatts) {
  *milliwatts = (unsigned)(((const Card*)card)->cap_w * 1e3);
  return answer(card, "hlml_device_get_power_management_default_limit");
}
int hlml_device_get_utilization_rates(void* card, unsigned* per_cent) {
  *per_cent = ((const Card*)card)->busy;
  return answer(card, "hlml_device_get_utilization_rates");
}
int hlml_device_get_memory_info(void* card, unsigned long long* free_total_used) {
  const Card* c = card;
  free_total_used[0] = c->memory_total - c->memory_used, free_total_used[1] = c->memory_total, free_total_used[2] = c->memory_used;
  return answer(card, "hlml_device_get_memory_info");
}
