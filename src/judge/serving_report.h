// What a model server's answers cost: joules per token and request, by model, and what the energy went into, split as
// "Measuring the environmental impact of delivering AI at Google Scale" (Elsworth et al., 2025) does for a median prompt: active
// accelerators, active host, idle, and the data centre's overhead. Field for field the schema joulery.serving/1
// (data/schemas/serving.json). An empty optional is "unknown", and a reason says why.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "judge/report.h"
#include "ledger/ledger.h"
#include "ledger/run_facts.h"
#include "ledger/serving/serving_shares.h"

namespace joulery {

struct ServingFigures {
  std::optional<double> joules_per_output_token, joules_per_token, joules_per_request;  // token: of prompts and answers
  std::optional<double> output_tokens_per_second_per_watt, kwh_per_1000_requests;
};

// All of the server, one model, or one group of requests.
struct ServingLine {
  std::string name;
  std::optional<double> tokens_in, tokens_out, requests;
  std::optional<Estimate> joules;   // of all: active and idle; of a model or group: active alone
  Quality quality = Quality::missing;
  ServingFigures figures;
};

struct ServingSplit {
  Energy active_accelerators, active_host, idle, unattributed;  // sum to the energy
  std::optional<double> idle_watts;
  std::string idle_source;          // "measured", "quiet intervals", "fitted"
  std::optional<double> pue;
  std::optional<Energy> overhead;   // beside the energy: what the data centre adds to it
  std::string overhead_reason;      // why it is not known
};

struct ServingRequests {
  std::size_t count = 0;
  std::optional<double> joules_median, joules_p95, seconds_median, first_token_s_median;
};

struct ServingReport {
  std::string begin;                // ISO 8601, UTC
  double duration_s = 0;
  std::string source;               // metrics | requests
  std::string endpoint, server;     // "" where there is none
  std::optional<Estimate> joules;
  Quality quality = Quality::missing;
  bool partial = false;
  std::string boundary = "node";
  std::vector<std::string> missing; // parts that burn and are not in the joules
  ServingSplit split;
  ServingLine all;
  std::vector<ServingLine> models, groups;
  std::string tokens_in_reason, tokens_out_reason, requests_reason;  // why these counts are unknown
  std::optional<ServingCosts> costs;
  StepTimes times;
  std::optional<ServingRequests> requests;
  std::vector<ReportGap> gaps;
  std::vector<std::string> flags;
};

// Something that was in work, and whose.
struct ServingWork {
  ServingUse use;
  std::string model, group;
  std::optional<double> tokens_in, tokens_out, requests;
};

// A stretch of the run; they are adjacent and cover it.
struct ServingCut {
  Interval when;
  std::string unattributed;         // why nobody knows who worked; "" where it is known
};

struct ServingRecord {
  const Timeline& timeline;
  const Ledger& ledger;
  WallTime begin;
  std::vector<ServingCut> cuts;
  std::vector<ServingWork> work;
  bool from_requests = false;       // each piece of work is one request
  std::optional<IdlePower> idle;    // measured before the run
  std::optional<double> pue;
  std::string endpoint, server;
  std::string tokens_in_reason, tokens_out_reason, requests_reason;
};

struct JudgedServing {
  ServingReport report;
  std::vector<SharedJoules> work;   // in the order of the record's
};

JudgedServing judge_serving(const ServingRecord& record);

// What a stretch burnt.
ServingSlot serving_slot(const Ledger& ledger, const ServingCut& cut);

// The run in even stretches, about as short as its meters tell apart.
std::vector<ServingCut> even_cuts(const Timeline& timeline, const Ledger& ledger);

}  // namespace joulery
