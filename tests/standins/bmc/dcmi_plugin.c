/* A plug-in for OpenIPMI's ipmi_sim, whose simulated controller knows no DCMI: the group extension DCh with Get DCMI
 * Capabilities Info, Get Power Reading and Get Power Limit (DCMI Specification 1.5, section 6).
 *
 * The option of `loadlib` names a text file that is read at every request, so that a test changes what is answered meanwhile:
 *   CURRENT LEAST GREATEST MEAN PERIOD_MS ACTIVE [DELAY_MS [COMPLETION_CODE]]
 * DELAY_MS holds the answer back (and with it the whole simulator, as a slow controller does); a COMPLETION_CODE other than 0
 * is answered alone. A file that cannot be read is answered CBh, sensor not present; one that begins with "rubbish", with bytes
 * that are no reply of DCMI's. */
#include <OpenIPMI/mcserv.h>
#include <OpenIPMI/serv.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { GROUP = 0xDC, CAPABILITIES = 0x01, POWER_READING = 0x02, POWER_LIMIT = 0x03 };
enum { INVALID_COMMAND = 0xC1, INVALID_LENGTH = 0xC7, OUT_OF_RANGE = 0xC9, NOT_PRESENT = 0xCB, INVALID_FIELD = 0xCC, NO_LIMIT = 0x80 };

static char values_path[512];

static void put16(unsigned char* to, unsigned value) { to[0] = (unsigned char)value, to[1] = (unsigned char)(value >> 8); }
static void put32(unsigned char* to, uint32_t value) { put16(to, value & 0xFFFF), put16(to + 2, value >> 16); }

static void refuse(unsigned char* reply, unsigned int* length, unsigned code) { reply[0] = (unsigned char)code, *length = 1; }

static void power_reading(const msg_t* request, unsigned char* reply, unsigned int* length) {
  unsigned current, least, greatest, mean, period_ms, active, delay_ms = 0, code = 0;
  char line[256] = "";
  FILE* file = fopen(values_path, "r");
  char* got = file ? fgets(line, sizeof line, file) : NULL;
  if (file) fclose(file);
  if (!got) return refuse(reply, length, NOT_PRESENT);
  if (!strncmp(line, "rubbish", 7)) {
    memset(reply + 1, 0xFF, 8);
    reply[0] = 0, *length = 9;
    return;
  }
  if (request->len < 4) return refuse(reply, length, INVALID_LENGTH);
  if (request->data[1] != 1 && request->data[1] != 2) return refuse(reply, length, INVALID_FIELD);
  if (sscanf(line, "%u %u %u %u %u %u %u %u", &current, &least, &greatest, &mean, &period_ms, &active, &delay_ms, &code) < 6)
    return refuse(reply, length, NOT_PRESENT);
  if (delay_ms) usleep(delay_ms * 1000);
  if (code) return refuse(reply, length, code);
  reply[0] = 0, reply[1] = GROUP;
  put16(reply + 2, current), put16(reply + 4, least), put16(reply + 6, greatest), put16(reply + 8, mean);
  put32(reply + 10, (uint32_t)time(NULL)), put32(reply + 14, period_ms);
  reply[18] = active ? 0x40 : 0;
  *length = 19;
}

static void capabilities(const msg_t* request, unsigned char* reply, unsigned int* length) {
  static const unsigned char supported[] = {0, GROUP, 1, 5, 2, 0, 1, 7}, windows[] = {0, GROUP, 1, 5, 2, 1, 0x45};
  if (request->len < 2) return refuse(reply, length, INVALID_LENGTH);
  if (request->data[1] == 1)
    memcpy(reply, supported, *length = sizeof supported);
  else if (request->data[1] == 5)
    memcpy(reply, windows, *length = sizeof windows);
  else
    refuse(reply, length, OUT_OF_RANGE);
}

static void handle(lmc_data_t* controller, msg_t* request, unsigned char* reply, unsigned int* length, void* context) {
  (void)controller, (void)context;
  if (request->cmd == CAPABILITIES)
    capabilities(request, reply, length);
  else if (request->cmd == POWER_READING)
    power_reading(request, reply, length);
  else
    refuse(reply, length, request->cmd == POWER_LIMIT ? NO_LIMIT : INVALID_COMMAND);
}

int ipmi_sim_module_print_version(sys_data_t* system, const char* options) {
  (void)system, (void)options;
  puts("dcmi_plugin");
  return 0;
}

int ipmi_sim_module_init(sys_data_t* system, const char* options) {
  (void)system;
  snprintf(values_path, sizeof values_path, "%s", options ? options : "");
  ipmi_emu_register_group_extension_handler(GROUP, handle, NULL);
  return 0;
}
