/* A stand-in for the kernel's IPMI device, laid under a program by LD_PRELOAD, for machines whose kernel has none.
 *
 * /dev/ipmi0 exists where FAKE_IPMI names a text file, which is read at every message, so that a test changes it meanwhile:
 *   dcmi HEX...       what Get Power Reading answers, completion code first: "dcmi 00dc5801..."
 *   delay MS          answers come this late
 *   silent            no answer comes at all
 *   errno N           opening the device fails with N
 *   gone              sending fails with ENODEV, as after the driver was unloaded
 * Any other command is answered C1, invalid command. Messages and answers have the layout of <linux/ipmi.h>; poll() on the device
 * is answered by a pipe that has a byte for each answer that is due. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/ipmi.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

static int reading_end = -1, writing_end = -1;
static struct {
  long number;
  unsigned char netfn, cmd, data[64];
  unsigned short length;
} answer;

static int is_device(const char* path) { return path && getenv("FAKE_IPMI") && !strcmp(path, "/dev/ipmi0"); }

/* The rest of the script's line that begins with `word`; 0 where there is none. */
static int script(const char* word, char* rest, size_t size) {
  FILE* file = fopen(getenv("FAKE_IPMI"), "re");
  char line[512];
  int found = 0;
  while (file && !found && fgets(line, sizeof line, file)) {
    line[strcspn(line, "\n")] = '\0';
    if (strncmp(line, word, strlen(word))) continue;
    snprintf(rest, size, "%s", line + strlen(word));
    found = 1;
  }
  if (file) fclose(file);
  return found;
}

static int open_device(void) {
  char rest[64];
  int ends[2];
  if (script("errno", rest, sizeof rest)) return errno = atoi(rest), -1;
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return -1;
  reading_end = ends[0], writing_end = ends[1];
  return reading_end;
}

static void prepare(const struct ipmi_req* request) {
  char text[256];
  answer.number = request->msgid;
  answer.netfn = request->msg.netfn | 1, answer.cmd = request->msg.cmd;
  answer.data[0] = IPMI_INVALID_CMD_COMPLETION_CODE, answer.length = 1;
  if (request->msg.netfn != 0x2C || request->msg.cmd != 0x02 || !script("dcmi ", text, sizeof text)) return;
  for (answer.length = 0; answer.length < sizeof answer.data; ++answer.length) {
    unsigned byte;
    if (sscanf(text + 2 * answer.length, "%2x", &byte) != 1) break;
    answer.data[answer.length] = (unsigned char)byte;
  }
}

static int send_message(const struct ipmi_req* request) {
  char rest[64];
  if (script("gone", rest, sizeof rest)) return errno = ENODEV, -1;
  prepare(request);
  if (script("silent", rest, sizeof rest)) return 0;
  if (script("delay", rest, sizeof rest)) usleep((unsigned)atoi(rest) * 1000);
  return write(writing_end, "", 1) == 1 ? 0 : -1;
}

static int receive_message(struct ipmi_recv* message) {
  char byte;
  if (read(reading_end, &byte, 1) != 1) return errno = EAGAIN, -1;
  if (message->msg.data_len < answer.length) return errno = EMSGSIZE, -1;
  message->recv_type = IPMI_RESPONSE_RECV_TYPE, message->msgid = answer.number;
  message->msg.netfn = answer.netfn, message->msg.cmd = answer.cmd, message->msg.data_len = answer.length;
  memcpy(message->msg.data, answer.data, answer.length);
  return 0;
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

int open(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) ? va_arg(more, mode_t) : 0;
  va_end(more);
  return is_device(path) ? open_device() : NEXT(open)(path, flags, mode);
}
int open64(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) ? va_arg(more, mode_t) : 0;
  va_end(more);
  return is_device(path) ? open_device() : NEXT(open64)(path, flags, mode);
}
int ioctl(int file, unsigned long request, ...) {
  va_list more;
  va_start(more, request);
  void* argument = va_arg(more, void*);
  va_end(more);
  if (file >= 0 && file == reading_end) {
    if (request == IPMICTL_SEND_COMMAND) return send_message(argument);
    if (request == IPMICTL_RECEIVE_MSG_TRUNC) return receive_message(argument);
  }
  return NEXT(ioctl)(file, request, argument);
}
int access(const char* path, int mode) { return is_device(path) ? 0 : NEXT(access)(path, mode); }
int close(int file) {
  if (file >= 0 && file == reading_end) {
    NEXT(close)(writing_end);
    reading_end = writing_end = -1;
  }
  return NEXT(close)(file);
}
