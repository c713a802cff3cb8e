#include "ledger/merge/merge_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "ledger/merge/host_alignment.h"

namespace joulery {
namespace {

bool overlap(Interval a, Interval b) { return a.begin < b.end && b.begin < a.end; }

bool one_boot(const MergeInput& a, const MergeInput& b) {
  return !a.facts.host.boot_id.empty() && a.facts.host.boot_id == b.facts.host.boot_id;
}

// A copy of a recording, or the same file once more.
bool same_recording(const MergeInput& a, const MergeInput& b) {
  if (a.run != b.run || a.facts.command != b.facts.command || a.facts.host != b.facts.host) return false;
  return a.crossings.front().mono == b.crossings.front().mono && a.crossings.front().wall == b.crossings.front().wall;
}

// Letters, digits, '.', '_' and '-': a name must not end a path or a word.
std::string safe_name(const std::string& text) {
  std::string name;
  for (const char c : text) name += std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '_' || c == '-' ? c : '_';
  return name;
}

std::string stem_of(const std::string& file) {
  const std::string name = file.substr(file.rfind('/') + 1);
  const std::size_t dot = name.rfind('.');
  return dot == std::string::npos || dot == 0 ? name : name.substr(0, dot);
}

class Planner {
 public:
  Planner(const std::vector<MergeInput>& inputs, bool apart) : inputs_(inputs), apart_(apart) {}

  Result<MergePlan> plan() {
    group();
    name();
    for (PlannedHost& host : plan_.hosts) align_host(inputs_, plan_.hosts.front(), host, plan_.notes);
    if (const auto together = check_overlap(); !together) return std::unexpected(together.error());
    return std::move(plan_);
  }

 private:
  void group() {
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      const auto twin = std::ranges::find_if(taken_, [&](std::size_t other) { return same_recording(inputs_[other], inputs_[i]); });
      if (twin != taken_.end()) {
        plan_.notes.push_back(fmt::format("counted-once: {} is the same recording as {}", inputs_[i].file, inputs_[*twin].file));
        continue;
      }
      taken_.push_back(i);
      add_to_host(i);
    }
    for (PlannedHost& host : plan_.hosts) {
      std::ranges::sort(host.inputs, {}, [&](std::size_t i) { return inputs_[i].run.begin; });
      if (host.inputs.size() > 1)
        plan_.notes.push_back(fmt::format("shared-host: {} recordings of {} share its joules, which are counted once", host.inputs.size(),
                                          inputs_[host.inputs.front()].facts.host.name));
    }
  }

  // A recording may join hosts that were apart so far.
  void add_to_host(std::size_t input) {
    PlannedHost all{"", {input}, inputs_[input].run, {}, {}, {}};
    auto place = plan_.hosts.end();
    for (auto host = plan_.hosts.begin(); host != plan_.hosts.end();) {
      if (!one_boot(inputs_[host->inputs.front()], inputs_[input]) || !overlap(host->run, all.run)) {
        ++host;
        continue;
      }
      all.inputs.insert(all.inputs.end(), host->inputs.begin(), host->inputs.end());
      all.run = {std::min(all.run.begin, host->run.begin), std::max(all.run.end, host->run.end)};
      place = host = plan_.hosts.erase(host);
    }
    plan_.hosts.insert(place, std::move(all));
  }

  void name() {
    std::set<std::string> used;
    for (PlannedHost& host : plan_.hosts) {
      const MergeInput& first = inputs_[host.inputs.front()];
      std::string wanted = safe_name(first.facts.host.name.empty() ? stem_of(first.file) : first.facts.host.name);
      if (wanted.empty()) wanted = "host";
      host.name = wanted;
      for (int n = 2; !used.insert(host.name).second; ++n) host.name = fmt::format("{}-{}", wanted, n);
    }
  }

  // The hosts in order of time must leave no moment in which none of them ran.
  Result<void> check_overlap() const {
    if (apart_) return {};
    std::vector<const PlannedHost*> hosts;
    for (const PlannedHost& host : plan_.hosts) hosts.push_back(&host);
    std::ranges::sort(hosts, {}, [](const PlannedHost* host) { return host->on_job().begin; });
    const PlannedHost* latest = hosts.front();
    for (const PlannedHost* host : hosts) {
      if (host->on_job().begin > latest->on_job().end)
        return fail(ErrorCode::usage,
                    fmt::format("{} began {:.1f} s after {} had ended: they are no one job", inputs_[host->inputs.front()].file,
                                to_seconds(host->on_job().begin - latest->on_job().end), inputs_[latest->inputs.front()].file),
                    "", "--apart merges them all the same");
      if (host->on_job().end > latest->on_job().end) latest = host;
    }
    return {};
  }

  const std::vector<MergeInput>& inputs_;
  const bool apart_;
  std::vector<std::size_t> taken_;
  MergePlan plan_;
};

}  // namespace

Result<MergePlan> plan_merge(const std::vector<MergeInput>& inputs, bool apart) {
  if (inputs.size() > static_cast<std::size_t>(most_members))
    return fail(ErrorCode::usage, fmt::format("more than {} recordings", most_members), "", "");
  return Planner(inputs, apart).plan();
}

}  // namespace joulery
