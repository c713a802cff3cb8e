// Whose processes are: resolves each use of CPU time to a Workload, and remembers it, so that a process costs a few small reads
// once in its life (and again when it moves or becomes another program), and one that has run before costs a look in a table.
//
// The cgroup is the one that the account says; its path comes from /proc/PID/cgroup while the process lives, from what others in
// the same cgroup said, or from the folders of the hierarchy. Tags come from the variable JOULERY_TAGS of the process
// ("team=vision,exp=7"), where its environment may be read, and from rules; a rule wins over the process' own word, as whoever
// keeps the machine says who is billed. A process that ended before it was looked at has the tags of its parent.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "watch/cgroup_folders.h"
#include "watch/cpu_account.h"
#include "watch/workload.h"

namespace joulery {

using Tags = std::map<std::string, std::string>;

// Gives tags to processes for which every pattern that is not empty fits, shell-like (* ? [a-z]; * also over slashes).
struct TagRule {
  std::string user, unit, name, cgroup;
  Tags tags;
  std::string variable =
      {};  // where not empty: what the process' environment says there is the value of each tag; none where it says nothing
};

// "team=vision,exp=7": what has no '=', no name, or the name of a fact is left out; blanks around are dropped.
Tags tags_of_text(std::string_view text);

class Workloads {
 public:
  // `root` holds proc/, sys/ and etc/passwd, "" for this machine. Of rules that give the same tag the last one that fits wins.
  explicit Workloads(std::string root = {}, std::vector<TagRule> rules = {});

  // The names of cgroups that the account has seen made. Before of() of the same look.
  void learn(std::span<const CgroupName> made);
  // Valid until the next call of of() or forget().
  const Workload& of(const CpuUse& use);
  // Those that have ended: call it once what they used has been accounted for, else the table grows.
  void forget(std::span<const ProcessId> ended);
  std::size_t size() const { return processes_.size(); }

 private:
  struct Own {  // from its environment
    Tags tags;
    std::map<std::string, std::string> variables;  // those that rules ask for
  };
  struct Known {
    std::int64_t start_ticks = 0;
    std::uint64_t cgroup = 0;
    std::uint32_t user = 0;
    std::string name;
    Own own;
    Workload all;
  };

  void remember(std::uint64_t cgroup, const std::string& path);
  Workload cgroup_of(const CpuUse& use);
  std::string user_name(std::uint32_t user);
  Own own_of(const CpuUse& use) const;
  void add_tags(const CpuUse& use, const Own& own, Workload& workload) const;
  std::optional<std::string> read(std::int32_t pid, std::string_view file) const;

  std::string root_;
  std::vector<TagRule> rules_;
  CgroupFolders cgroups_;
  std::unordered_map<std::int32_t, Known> processes_;      // by pid; the start tells whether it is the same
  std::unordered_map<std::uint64_t, std::string> by_cgroup_;  // paths that processes told
  std::unordered_map<std::uint32_t, std::string> users_;
};

}  // namespace joulery
