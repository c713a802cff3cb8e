#include "sample_account.h"

namespace joulery {
namespace {

ConsumerAccount consumer(ConsumerKind kind, std::string name, std::vector<std::int64_t> microjoule, double power, double cpu_s,
                         Labels labels = {}) {
  ConsumerAccount account{kind, std::move(name), {}, watts(power), seconds(cpu_s), std::move(labels)};
  for (const std::int64_t energy : microjoule) account.energy.push_back(microjoules(energy));
  return account;
}

void add_components(NodeAccount& node) {
  node.components.push_back({"node/cpu/package-0",
                             "rapl.powercap",
                             Quality::measured,
                             {{Quality::measured, microjoules(1'000'000'007)}, {Quality::estimated, microjoules(500'000)}},
                             watts(21.5),
                             "",
                             watts(5)});
  node.components.push_back({"node/dram/package-0",
                             "rapl.powercap",
                             Quality::measured,
                             {{Quality::measured, microjoules(60'000'003)}},
                             watts(1.25),
                             "",
                             watts(0.5)});
  node.components.push_back({"node/gpu/0",
                             "",
                             Quality::missing,
                             {{Quality::integrated, microjoules(7'500'000'001)}},
                             std::nullopt,
                             "the driver does not answer",
                             {}});
  node.overlaps.push_back(
      {"node/cpu/package-0/core", "rapl.powercap", Quality::measured, {{Quality::measured, microjoules(700'000'000)}}, watts(15), "", {}});
}

void add_consumers(NodeAccount& node) {
  using enum ConsumerKind;
  auto& all = node.consumers;
  all.push_back(consumer(process, "python[4711]", {600'000'000, 30'000'000, 7'400'000'001}, 18, 40.5, {{"pid", "4711"}, {"user", "ada"}}));
  all.push_back(consumer(process, "a \"b\\c\nd[12]", {100'000'007, 10'000'003, 0}, 1.5, 6, {{"pid", "12"}, {"user", "ada"}}));
  all.push_back(consumer(process, "sh[99]", {500'000, 0, 0}, 0, 0.1, {{"pid", "99"}, {"user", "bob"}}));
  all.push_back(consumer(process, "(ended)", {50'000'000, 0, 0}, 0, 3));
  all.push_back(consumer(container, "c0ffee", {600'000'000, 30'000'000, 7'400'000'001}, 18, 40.5, {{"runtime", "docker"}}));
  all.push_back(consumer(container, "(none)", {150'500'007, 10'000'003, 0}, 1.5, 9.1));
  all.push_back(consumer(user, "ada", {700'000'007, 40'000'003, 7'400'000'001}, 19.5, 46.5));
  all.push_back(consumer(user, "bob", {50'500'000, 0, 0}, 0, 3.1));
  all.push_back(consumer(idle, "", {240'000'000, 20'000'000, 100'000'000}, 3, 0));
  all.push_back(consumer(unattributed, "", {10'000'000, 0, 0}, 0.25, 0.5));
}

}  // namespace

NodeAccount sample_account() {
  NodeAccount node;
  node.begin = {5'000'000'000};
  node.now = {70'000'000'000};
  node.tick = milliseconds(1000);
  add_components(node);
  add_consumers(node);
  node.missing[{"nvidia.nvml", "gone"}] = milliseconds(12'500);
  node.method = "proc";
  node.own_cpu = milliseconds(123);
  node.own_memory = 12'345'678;
  return node;
}

std::string label_of(const MetricSample& sample, const std::string& name) {
  for (const auto& [key, value] : sample.labels)
    if (key == name) return value;
  return "";
}

const MetricFamily* family_of(const std::vector<MetricFamily>& families, const std::string& name) {
  for (const MetricFamily& family : families)
    if (family.name == name) return &family;
  return nullptr;
}

std::map<std::pair<std::string, std::string>, std::int64_t> sums_by(const std::vector<MetricFamily>& families, const std::string& family,
                                                                    const std::string& first, const std::string& second) {
  std::map<std::pair<std::string, std::string>, std::int64_t> sums;
  if (const MetricFamily* found = family_of(families, family))
    for (const MetricSample& sample : found->samples) sums[{label_of(sample, first), label_of(sample, second)}] += sample.value.count();
  return sums;
}

}  // namespace joulery
