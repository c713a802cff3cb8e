// Model servers as families of metrics: what they answered, what the node burnt meanwhile, joules per token.
//
// The number of lines is bounded: servers are those that are configured, models most_served_models each.
#pragma once

#include <span>
#include <vector>

#include "ledger/serving/server_account.h"
#include "publish/metric.h"

namespace joulery {

// `rounded`: for readers without the token: whole joules, and no figure made of finer ones. Families without a sample are left out.
std::vector<MetricFamily> server_metrics(std::span<const ServerAccount> servers, bool rounded);

// Every family there may be, without samples.
std::vector<MetricFamily> server_metric_families();

// What readers without the token are told of a server's energy.
Energy rounded_for_open(Energy energy);

}  // namespace joulery
