/* A scripted stand-in for librocm_smi64.so.1, the script is FAKE_ROCM_SMI_SCRIPT (fake_cards.h tells its words). As the
 * library of ROCm 5 it has no rsmi_dev_power_get. */
#include "fake_cards.h"

enum { OK = 0, INVALID = 1, NOT_FOUND = 10 };

unsigned rsmi_init(uint64_t flags) {
  cards_load("FAKE_ROCM_SMI_SCRIPT");
  return flags == 0 ? (unsigned)ruled(rules, rule_count, "rsmi_init", OK) : INVALID;
}
unsigned rsmi_num_monitor_devices(uint32_t* count) {
  *count = (uint32_t)cards_count();
  return OK;
}
static unsigned answer(uint32_t index, const char* function) {
  return index < MOST_CARDS && cards[index].present ? (unsigned)card_answer(&cards[index], function, NOT_FOUND) : INVALID;
}
unsigned rsmi_dev_pci_id_get(uint32_t index, uint64_t* bits) {
  unsigned domain = 0, bus = 0, device = 0, function = 0;
  sscanf(cards[index].address, "%x:%x:%x.%x", &domain, &bus, &device, &function);
  *bits = (uint64_t)domain << 32 | bus << 8 | device << 3 | function;
  return answer(index, "rsmi_dev_pci_id_get");
}
unsigned rsmi_dev_name_get(uint32_t index, char* name, size_t size) {
  snprintf(name, size, "%s", cards[index].name);
  return answer(index, "rsmi_dev_name_get");
}
unsigned rsmi_dev_energy_count_get(uint32_t index, uint64_t* count, float* resolution, uint64_t* timestamp) {
  *count = count_now(&cards[index]);
  *resolution = (float)cards[index].unit_uj;
  *timestamp = (uint64_t)(now_ms() * 1e6);
  return answer(index, "rsmi_dev_energy_count_get");
}
unsigned rsmi_dev_power_ave_get(uint32_t index, uint32_t sensor, uint64_t* microwatts) {
  *microwatts = (uint64_t)(watts_now(&cards[index]) * 1e6 + 0.5);
  return sensor == 0 ? answer(index, "rsmi_dev_power_ave_get") : INVALID;
}
unsigned rsmi_dev_power_cap_range_get(uint32_t index, uint32_t sensor, uint64_t* greatest, uint64_t* least) {
  *greatest = (uint64_t)(cards[index].cap_w * 1e6);
  *least = 0;
  return sensor == 0 && *greatest ? answer(index, "rsmi_dev_power_cap_range_get") : INVALID;
}
unsigned rsmi_dev_busy_percent_get(uint32_t index, uint32_t* per_cent) {
  *per_cent = cards[index].busy;
  return answer(index, "rsmi_dev_busy_percent_get");
}
unsigned rsmi_dev_memory_usage_get(uint32_t index, uint32_t type, uint64_t* bytes) {
  *bytes = cards[index].memory_used;
  return type == 0 ? answer(index, "rsmi_dev_memory_usage_get") : INVALID;
}
unsigned rsmi_dev_memory_total_get(uint32_t index, uint32_t type, uint64_t* bytes) {
  *bytes = cards[index].memory_total;
  return type == 0 ? answer(index, "rsmi_dev_memory_total_get") : INVALID;
}
