#include "watch/slurm_allocation.h"

#include <algorithm>
#include <charconv>

namespace joulery {
namespace {

constexpr std::int64_t mebibyte = 1 << 20, most = 1 << 30;  // CPUs, or MiB: beyond it a number is no such thing

std::optional<std::int64_t> number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed != std::errc{} || end != text.data() + text.size() || value < 0 || value > most) return std::nullopt;
  return value;
}

std::string_view next_part(std::string_view& rest, char between) {
  const std::size_t end = std::min(rest.find(between), rest.size());
  const std::string_view part = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return part;
}

std::string_view variable(std::string_view environment, std::string_view name) {
  while (!environment.empty()) {
    const std::string_view entry = next_part(environment, '\0');
    if (entry.starts_with(name) && entry.substr(name.size()).starts_with('=')) return entry.substr(name.size() + 1);
  }
  return {};
}

// "16(x2),8": 16 on each of the first two nodes, 8 on the third.
std::optional<std::int64_t> of_node(std::string_view per_node, std::int64_t node) {
  while (!per_node.empty()) {
    const std::string_view part = next_part(per_node, ',');
    const std::size_t bracket = part.find("(x");
    const auto value = number(part.substr(0, bracket));
    std::optional<std::int64_t> times = 1;
    if (bracket != std::string_view::npos) {
      if (!part.ends_with(')')) return std::nullopt;
      times = number(part.substr(bracket + 2, part.size() - bracket - 3));
    }
    if (!value || !times) return std::nullopt;
    if (node < *times) return value;
    node -= *times;
  }
  return std::nullopt;
}

std::vector<int> numbers_in_list(std::string_view text) {
  std::vector<int> numbers;
  while (!text.empty())
    if (const auto value = number(next_part(text, ','))) numbers.push_back(static_cast<int>(*value));
  return numbers;
}

}  // namespace

std::optional<SlurmAllocation> slurm_allocation(std::string_view environment) {
  const auto of = [&](std::string_view name) { return variable(environment, name); };
  SlurmAllocation found;
  if (const std::string_view job = of("SLURM_JOB_ID"); number(job)) found.job = job;
  if (found.job.empty()) return std::nullopt;
  auto cpus = of_node(of("SLURM_JOB_CPUS_PER_NODE"), number(of("SLURM_NODEID")).value_or(0));
  if (!cpus) cpus = number(of("SLURM_CPUS_ON_NODE"));
  if (cpus && *cpus > 0) found.cpus = static_cast<int>(*cpus);
  if (const auto memory = number(of("SLURM_MEM_PER_NODE")); memory && *memory > 0)  // 0: all that the node has, or not limited
    found.memory = *memory * mebibyte;
  else if (const auto each = number(of("SLURM_MEM_PER_CPU")); each && *each > 0 && found.cpus && *each <= most / *found.cpus)
    found.memory = *each * *found.cpus * mebibyte;
  found.accelerators = numbers_in_list(of("SLURM_JOB_GPUS"));
  if (found.accelerators.empty()) found.accelerators = numbers_in_list(of("SLURM_STEP_GPUS"));
  return found;
}

std::optional<int> cpus_in_list(std::string_view list) {
  while (!list.empty() && (list.back() == '\n' || list.back() == ' ')) list.remove_suffix(1);
  std::int64_t count = 0;
  while (!list.empty()) {
    std::string_view part = next_part(list, ',');
    const bool range = part.contains('-');
    const auto first = number(next_part(part, '-'));
    const auto last = range ? number(part) : first;
    if (!first || !last || *last < *first) return std::nullopt;
    count += *last - *first + 1;
  }
  return count <= most ? std::optional(static_cast<int>(count)) : std::nullopt;
}

}  // namespace joulery
