// What `joulery serve-watch` watches while the meters run: a server's metrics, or requests on their way through a proxy.
//
// Invariant: one thread calls all of it.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "app/serve/serve_report.h"
#include "app/serve/serve_session.h"
#include "core/result.h"

namespace joulery {

// What a server did, as far as it is told.
struct ServedCounts {
  std::optional<double> tokens_in, tokens_out, requests;
};

// So much so far, for the live line.
struct ServedSoFar {
  std::optional<double> tokens_out, requests;
  std::string trouble;   // why nothing is known just now; "" where it is

  // Books what was done by then here, and as work in the session's recording.
  void book(const ServedCounts& done, MonoTime at, ServeSession& session);
};

class WatchedServer {
 public:
  virtual ~WatchedServer() = default;
  // Before the meters start. Errors: what keeps it from ever working.
  virtual Result<void> open() = 0;
  // The first moment that it can tell of: the run begins there. Nothing while there is none.
  virtual std::optional<MonoTime> first(ServeSession& session) = 0;
  // When look() is to be called next.
  virtual MonoTime next() const = 0;
  virtual void look(ServeSession& session) = 0;
  // A last look; gives where the run ends. Nothing else is called after it but report() and summary lines.
  virtual MonoTime finish(ServeSession& session) = 0;
  virtual ServedSoFar so_far() const = 0;
  virtual Result<ServingReport> report(const LoadedRun& run, std::optional<double> pue) = 0;
};

}  // namespace joulery
