// Questions in PromQL to Prometheus, VictoriaMetrics, Thanos, Mimir and whatever else answers GET and POST /api/v1/query.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "judge/fleet.h"
#include "sense/remote/http.h"

namespace joulery {

struct PromSeries {
  SeriesLabels labels;                   // without __name__
  std::vector<CounterSample> samples;    // one of an instant vector, many of a range
};

class PromEndpoint {
 public:
  // `url`: up to the path that /api/v1/query follows. Errors: unsupported, without libcurl.
  static Result<PromEndpoint> make(std::string url, HttpAccess access, Duration timeout);

  // An instant query; a range selector ("m[1h]") gives raw samples. Errors: io, where nobody answers in time or well;
  // permission; format; usage, with the engine's own words, for a query that it does not take.
  Result<std::vector<PromSeries>> ask(const std::string& query, WallTime at);
  const std::string& url() const { return url_; }

 private:
  PromEndpoint(std::string url, HttpClient client, Duration timeout)
      : url_(std::move(url)), client_(std::move(client)), timeout_(timeout) {}
  std::string url_;
  HttpClient client_;
  Duration timeout_;
};

// The series of an answer. Errors: format; usage, where the engine says what is wrong.
Result<std::vector<PromSeries>> parse_prom_answer(std::string_view json);

// A text as a string of PromQL, with its quotes.
std::string promql_quoted(std::string_view text);

// "90000ms".
std::string promql_duration(Duration duration);

}  // namespace joulery
