// What `joulery serve-watch` is asked to do.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/command_line.h"
#include "app/serve/server_scraper.h"
#include "app/serve/upstream.h"
#include "core/quantity.h"

namespace joulery {

struct ServeOptions {
  std::string endpoint, server, kind;            // metrics to look at
  std::string proxy, upstream, log;              // to stand in between
  TlsTrust trust;                                // of an upstream that speaks TLS
  std::string requests;                          // a server's own log
  std::string recording;                         // judge this one instead of watching
  std::string output, interval_text = "100ms", every_text, duration_text, baseline_text, sysroot;
  bool no_save = false, quiet = false;
  FormChoice form;
  FactorWords factors;
  std::vector<std::string> sets;

  Duration interval, baseline;
  std::optional<Duration> every, duration;
};

// The exit code where there is nothing to do but to say what is wrong, or to help.
std::optional<int> parse_serve_options(std::vector<std::string> arguments, ServeOptions& options);

}  // namespace joulery
