// The smallest caller of Child, for the tests that need a process of their own: run_child COMMAND [ARGUMENT...]
// exits as the command does.
#include <cstdio>

#include "watch/child.h"
#include "watch/program.h"

int main(int argc, char** argv) {
  auto gate = joulery::SignalGate::open();
  if (!gate) return 125;
  const joulery::ChildSpec spec{{argv + 1, argv + argc}, {{"JOULERY_TEST", "1"}}};
  auto child = joulery::Child::start(spec, *gate);
  if (!child) {
    std::fprintf(stderr, "%s\n", child.error().line().c_str());
    return joulery::exit_code_of_start_failure(child.error());
  }
  const auto end = child->wait();
  return end ? end->exit_code : 125;
}
