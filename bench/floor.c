/* The least that sampling can cost: wake on absolute deadlines of CLOCK_MONOTONIC and read the same files, and nothing
 * else: no parsing, no keeping. The sampling bench runs it beside joulery.
 *
 *   floor INTERVAL_US SECONDS FILE...      prints {"rounds":…, "missed":…, "cpu_s":…}
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { max_files = 64 };

static long long now_ns(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void sleep_until(long long ns) {
  const struct timespec t = {ns / 1000000000LL, ns % 1000000000LL};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR) {
  }
}

int main(int count, char **words) {
  const long long interval = count > 3 ? atoll(words[1]) * 1000 : 0;
  const double seconds = count > 3 ? atof(words[2]) : 0;
  if (interval <= 0 || seconds <= 0 || count - 3 > max_files) {
    fprintf(stderr, "usage: %s INTERVAL_US SECONDS FILE...\n", words[0]);
    return 2;
  }
  int files[max_files];
  for (int i = 3; i < count; ++i) {
    files[i - 3] = open(words[i], O_RDONLY | O_CLOEXEC);
    if (files[i - 3] < 0) {
      perror(words[i]);
      return 1;
    }
  }
  const long long end = now_ns(CLOCK_MONOTONIC) + (long long)(seconds * 1e9);
  long long deadline = now_ns(CLOCK_MONOTONIC), rounds = 0, missed = 0;
  char text[64];
  while (deadline < end) {
    sleep_until(deadline);
    for (int i = 0; i < count - 3; ++i)
      if (pread(files[i], text, sizeof text, 0) <= 0) return 1;
    ++rounds;
    deadline += interval;
    for (; deadline + interval <= now_ns(CLOCK_MONOTONIC); deadline += interval) ++missed;
  }
  printf("{\"rounds\": %lld, \"missed\": %lld, \"cpu_s\": %.6f}\n", rounds, missed,
         (double)now_ns(CLOCK_PROCESS_CPUTIME_ID) * 1e-9);
  return 0;
}
