// The hosts of a job: what a recording that was merged of several (joulery merge) says of each, in its metadata "hosts".
// docs/formats/recording.md describes the entry.
//
// Invariant: all rows of a host hold its own monotonic time moved by one whole number of microseconds; `clock` tells how
// that lies on the job's clock, which is the first host's.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/host_clock.h"
#include "core/result.h"
#include "record/recording.h"

namespace joulery {

// How the clock of a host was laid on the job's, and how well that is known. 90 % intervals, empty where not known.
struct ClockAlignment {
  Duration ahead;                        // of its wall clock before the first host's, in the middle of the run
  std::optional<Duration> low, high;     // of `ahead`
  double drift = 0;                      // seconds a second by which it gets further ahead
  std::optional<double> drift_low, drift_high;
  std::string source;                    // "120 common steps", "wall clocks", "the job's clock"
};

struct JobHost {
  std::string name;
  Metadata metadata;                     // as in a recording of this host alone
  std::vector<ClockMap> crossings;
  HostClock clock;
  ClockAlignment alignment;
  std::vector<std::int32_t> members;     // numbers of the recordings that were merged: see job_pid()
};

// The most recordings that one job holds: their processes are told apart by the upper bits of a pid (Linux numbers
// processes below 2^22).
inline constexpr std::int32_t most_members = 512;
inline constexpr int pid_bits = 22;
constexpr std::int32_t job_pid(std::int32_t member, std::int32_t pid) { return pid <= 0 ? pid : member << pid_bits | pid; }
constexpr std::int32_t member_of(std::int32_t job_pid) { return job_pid >> pid_bits; }
constexpr std::int32_t plain_pid(std::int32_t job_pid) { return job_pid <= 0 ? job_pid : job_pid & ((1 << pid_bits) - 1); }

// The metadata entry that holds the hosts.
inline constexpr const char* hosts_entry = "hosts";
std::string hosts_json(const std::vector<JobHost>& hosts);
// None where the recording is of one host. Errors: format.
Result<std::vector<JobHost>> job_hosts(const Metadata& metadata);

// Text of an event of one host among several, and back: empty where the event is not this host's.
std::string host_detail(const std::string& host, const std::string& detail);
std::optional<std::string> detail_of_host(const std::string& host, const std::string& detail);

}  // namespace joulery
