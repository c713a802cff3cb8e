// From a recording and what a server did meanwhile to a serving report.
#pragma once

#include <string>
#include <vector>

#include "app/loaded_run.h"
#include "judge/serving_report.h"
#include "watch/serving/count_follower.h"
#include "watch/serving/request_log.h"

namespace joulery {

// What was watched, as the report names it.
struct ServingNames {
  std::string endpoint, server;
};

// By what a server's counters said, one window after the other.
struct CountedServing {
  std::vector<CountedWindow> windows;
  std::string tokens_in_reason, tokens_out_reason, requests_reason;
  std::string silence;               // why the last stretch has no window
};
ServingReport report_of_counts(const LoadedRun& run, const CountedServing& counted, const ServingNames& names, std::optional<double> pue);

// Request by request. `shares` are in the order of the requests.
struct RequestReport {
  ServingReport report;
  std::vector<SharedJoules> shares;
};
RequestReport report_of_requests(const LoadedRun& run, const std::vector<ServedRequest>& requests, const ServingNames& names,
                                 std::optional<double> pue);

// A log or a file of spans, whichever it is. Errors: not_found, permission, io; format where it has no request at all.
Result<RequestLog> read_requests(const std::string& path);

}  // namespace joulery
