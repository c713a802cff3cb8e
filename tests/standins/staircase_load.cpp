// A load whose true energy is known: burns one core in steps of rising duty (0, 1/(n-1), ... 1) and reads the fake
// RAPL's own counters as the first and the last thing it does.
//
//   staircase_load SECONDS STEPS OUT.json
//
// Started at real-time priority, it reads the counters so and burns at normal priority.
//
// OUT gets {"begin_ns":…, "end_ns":…, "joules":{"intel-rapl:0 package-0":…, …}} for this process's life. Where
// $RAPL_TRUTH is not set there is no truth and "joules" is empty.
#include <sched.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>
#include <thread>

namespace {

using Clock = std::chrono::steady_clock;  // CLOCK_MONOTONIC

struct Truth {
  std::int64_t mono_ns = 0;
  std::map<std::string, double> microjoules;  // by "intel-rapl:0 package-0"
};

Truth read_truth() {
  Truth truth;
  const char* path = std::getenv("RAPL_TRUTH");
  if (!path) {
    truth.mono_ns = Clock::now().time_since_epoch().count();
    return truth;
  }
  std::ifstream file(path);
  std::string zone, name;
  file >> name >> truth.mono_ns;
  double value = 0;
  while (file >> zone >> name >> value) truth.microjoules[zone + " " + name] = value;
  return truth;
}

// Busy for `duty` of every 20 ms until `end`.
void burn(Clock::time_point end, double duty) {
  constexpr auto period = std::chrono::milliseconds(20);
  volatile double sink = 1.0;
  for (auto slot = Clock::now(); slot < end; slot += period) {
    const auto busy_until = slot + std::chrono::duration_cast<Clock::duration>(period * duty);
    while (Clock::now() < busy_until)
      for (int i = 0; i < 1000; ++i) sink = sink * 1.0000001 + 0.1;
    std::this_thread::sleep_until(std::min(slot + period, end));
  }
}

// The scheduling policy of this process, changed for as long as this lives.
class AtNormalPriority {
 public:
  AtNormalPriority() : before_(sched_getscheduler(0)) {
    sched_getparam(0, &parameters_);
    const sched_param normal{};
    sched_setscheduler(0, SCHED_OTHER, &normal);
  }
  AtNormalPriority(const AtNormalPriority&) = delete;
  AtNormalPriority& operator=(const AtNormalPriority&) = delete;
  ~AtNormalPriority() { sched_setscheduler(0, before_, &parameters_); }

 private:
  int before_;
  sched_param parameters_{};
};

void burn_in_steps(double seconds, int steps) {
  const AtNormalPriority lowered;
  const auto start = Clock::now();
  for (int i = 0; i < steps; ++i) {
    const auto end = start + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds * (i + 1) / steps));
    burn(end, steps == 1 ? 1.0 : static_cast<double>(i) / (steps - 1));
  }
}

bool write_json(const char* path, const Truth& begin, const Truth& end) {
  std::FILE* out = std::fopen(path, "w");
  if (!out) return false;
  std::fprintf(out, "{\"begin_ns\": %lld, \"end_ns\": %lld, \"joules\": {", static_cast<long long>(begin.mono_ns),
               static_cast<long long>(end.mono_ns));
  const char* comma = "";
  for (const auto& [zone, value] : end.microjoules) {
    std::fprintf(out, "%s\"%s\": %.6f", comma, zone.c_str(), (value - begin.microjoules.at(zone)) * 1e-6);
    comma = ", ";
  }
  return std::fputs("}}\n", out) >= 0 && std::fclose(out) == 0;
}

}  // namespace

int main(int count, char** words) {
  const double seconds = count == 4 ? std::atof(words[1]) : 0;
  const int steps = count == 4 ? std::atoi(words[2]) : 0;
  if (seconds <= 0 || steps < 1) {
    std::fprintf(stderr, "usage: %s SECONDS STEPS OUT.json\n", words[0]);
    return 2;
  }
  const Truth begin = read_truth();
  burn_in_steps(seconds, steps);
  const Truth end = read_truth();
  if (!write_json(words[3], begin, end)) {
    std::perror(words[3]);
    return 1;
  }
  return 0;
}
