// A node account made by hand, and the laws that any list of metrics made of one obeys; for tests of what the agent tells.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ledger/node_account.h"
#include "publish/metric.h"

namespace joulery {

// Two packages and a GPU, an overlap, four processes in two containers and two users, idle and unattributed; 65 s watched.
NodeAccount sample_account();

// The joules of a family by the values of two labels, in microjoules.
std::map<std::pair<std::string, std::string>, std::int64_t> sums_by(const std::vector<MetricFamily>& families, const std::string& family,
                                                                    const std::string& first, const std::string& second);

std::string label_of(const MetricSample& sample, const std::string& name);
const MetricFamily* family_of(const std::vector<MetricFamily>& families, const std::string& name);

}  // namespace joulery
