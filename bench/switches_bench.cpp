// What the eBPF program costs per context switch: two processes on one CPU hand a byte to and fro by pipes, with the program and
// without it by turns, so that what else the machine does hits both alike. Prints nanoseconds per switch, one line a pair of
// rounds: "without with".   switches_bench [PAIRS [SWITCHES]]
#include <fmt/core.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "core/time.h"
#include "watch/bpf_account.h"
#include "watch/cgroup_mounts.h"
#include "watch/proc_stat.h"

namespace {

using namespace joulery;

struct Pipes {
  int there[2], back[2];
};

void echo(const Pipes& pipes) {
  char byte = 0;
  while (read(pipes.there[0], &byte, 1) == 1 && write(pipes.back[1], &byte, 1) == 1) {}
  _exit(0);
}

double ns_per_switch(const Pipes& pipes, int switches) {
  char byte = 1;
  const MonoTime begin = mono_now();
  for (int i = 0; i < switches; i += 2)
    if (write(pipes.there[1], &byte, 1) != 1 || read(pipes.back[0], &byte, 1) != 1) std::exit(1);
  return static_cast<double>((mono_now() - begin).base_units()) / switches;
}

}  // namespace

int main(int count, char** words) {
  const int pairs = count > 1 ? std::atoi(words[1]) : 40, switches = count > 2 ? std::atoi(words[2]) : 40'000;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);
  Pipes pipes{};
  if (sched_setaffinity(0, sizeof one, &one) != 0 || pipe(pipes.there) != 0 || pipe(pipes.back) != 0) return 1;
  if (fork() == 0) {
    close(pipes.there[1]);
    echo(pipes);
  }
  const auto hierarchy = find_cpu_hierarchy(read_small_file("/proc/self/mountinfo").value_or(""));
  const BpfAccountOptions options{hierarchy ? hierarchy->controller : CpuController::unified};
  ns_per_switch(pipes, switches);
  for (int pair = 0; pair < pairs; ++pair) {
    const double without = ns_per_switch(pipes, switches);
    const auto account = open_bpf_account(options);
    if (!account) {
      fmt::print(stderr, "{}\n", account.error().line());
      return 1;
    }
    ns_per_switch(pipes, switches / 10);  // the rows are made
    fmt::print("{:.2f} {:.2f}\n", without, ns_per_switch(pipes, switches));
  }
  close(pipes.there[1]);
  wait(nullptr);
}
