// What a pair of marks (begin + end of a step) costs the marked program, next to the clock that both must read.
// Medians over batches, each placed into a real ring that a reader drains beside it. No timings are asserted.
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "core/time.h"
#include "joulery/joulery.hpp"
#include "watch/mark_reader.h"
#include "watch/ring_directory.h"

namespace {

using namespace joulery;

constexpr int batches = 400, pairs = 500;  // 1,000 records: the ring holds 32 batches

template <class Body>
double median_ns(Body body) {
  std::vector<double> each;
  for (int b = 0; b < batches; ++b) {
    const MonoTime begin = mono_now();
    for (int i = 0; i < pairs; ++i) body();
    each.push_back(static_cast<double>((mono_now() - begin).base_units()) / pairs);
    std::this_thread::sleep_for(std::chrono::milliseconds(3));  // the reader's turn
  }
  std::nth_element(each.begin(), each.begin() + batches / 2, each.end());
  return each[batches / 2];
}

void row(const std::string& what, double ns, double clock) { fmt::print("{:<58}{:>9.1f}{:>9.2f}\n", what, ns, ns / clock); }

// In the child: the marked program.
void measure_here(double clock) {
  row("C++: joulery::Step step(64)", median_ns([] { Step step(64); }), clock);
  static const Name name("decode");
  row("C++: joulery::Step step(name, 64)", median_ns([] { Step step(name, 64); }), clock);
  row("C: joulery_mark(\"epoch\", 1) twice, looked up by its text", median_ns([] {
        mark("epoch", 1);
        mark("epoch", 2);
      }),
      clock);
  if (lost() != 0) fmt::print("{} marks were lost: the figures above are too low\n", lost());
}

void drain_until_done(MarkReader& reader, pid_t child) {
  while (waitpid(child, nullptr, WNOHANG) == 0) {
    reader.drain();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

template <class Body>
void in_child(RingDirectory* directory, Body body) {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    if (directory != nullptr)
      setenv("JOULERY_RING", directory->path().c_str(), 1);
    else
      unsetenv("JOULERY_RING");
    body();
    std::fflush(stdout);
    _exit(0);
  }
  MarkReader reader(directory != nullptr ? directory->path() : "");
  drain_until_done(reader, child);
}

}  // namespace

// marks_bench [PYTHON SCRIPT]: the script prints its own rows.
int main(int argc, char** argv) {
  Result<RingDirectory> directory = RingDirectory::make();
  if (!directory) return fmt::print(stderr, "{}\n", directory.error().line()), 1;
  const double clock = median_ns([] {
    mono_now();
    mono_now();
  });
  fmt::print("{:<58}{:>9}{:>9}\n", "median of a pair", "ns", "x clock");
  row("CLOCK_MONOTONIC read twice (the floor)", clock, clock);
  in_child(&*directory, [&] { measure_here(clock); });
  in_child(nullptr, [&] { row("C++: joulery::Step step(64), not measured", median_ns([] { Step step(64); }), clock); });
  if (argc < 3) return 0;
  const std::string clock_text = fmt::format("{}", clock);
  in_child(&*directory, [&] { execl(argv[1], argv[1], argv[2], clock_text.c_str(), nullptr); });
  in_child(nullptr, [&] { execl(argv[1], argv[1], argv[2], clock_text.c_str(), nullptr); });
}
