#include "watch/proc_account.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

#include "watch/cgroup_folders.h"
#include "watch/cpu_clock.h"
#include "watch/machine_busy.h"
#include "watch/proc_folder.h"
#include "watch/proc_stat.h"

namespace joulery {
namespace {

constexpr int looks_between_lists = 30;     // a process may be made under a number of its maker's choice (CRIU): seen then
constexpr int looks_between_user_looks = 10;  // a process that gives up its rights goes on under the same name

class ProcAccount final : public CpuAccount {
 public:
  explicit ProcAccount(std::string root);
  std::string_view method() const override { return "proc"; }
  void begin();
  Result<CpuUses> read() override;

 private:
  struct Known {
    ProcessId id;
    Duration cpu;                              // up to here it was told
    std::int32_t parent = 0;
    std::string name;
    std::uint32_t user = 0;
    std::uint64_t cgroup = 0;
    int user_seen = 0;                         // at which look; 0: not yet
    std::map<std::int32_t, Duration> threads;  // recorded trees only
  };

  std::string file_of(std::int32_t pid, std::string_view name) const { return fmt::format("{}/proc/{}/{}", root_, pid, name); }
  std::int32_t last_made() const;
  std::vector<std::int32_t> new_ones();
  std::optional<Duration> cpu_time(std::int32_t pid, Known& known) const;
  bool look_at(std::int32_t pid, Known& known, CpuUses& uses);
  void look_at_new(std::int32_t pid, CpuUses& uses);
  void tell(Known& known, Duration cpu, CpuUses& uses);
  Duration unattributed(const std::optional<BusyTime>& busy, Duration told);

  std::string root_;
  CgroupFolders cgroups_;
  std::string cpuacct_;                        // the folder that accounts for the whole machine, "" where there is none
  std::unordered_map<std::int32_t, Known> known_;
  MonoTime last_;
  std::int64_t born_before_ = 0;               // ticks: who began earlier was there when the account was opened
  int look_ = 0;
  std::int32_t last_made_ = 0;
  std::optional<BusyTime> busy_at_begin_;
  Duration told_, told_unattributed_;          // since then
};

std::string machine_cpuacct(const std::optional<CgroupMount>& mount) {
  return mount && mount->controller == CpuController::cpuacct && mount->root == "/" ? mount->folder : std::string();
}

ProcAccount::ProcAccount(std::string root) : root_(std::move(root)), cgroups_(root_), cpuacct_(machine_cpuacct(cgroups_.mount())) {}

// The number that was last given to a process or thread: the fifth word of /proc/loadavg. 0 where it is not known.
std::int32_t ProcAccount::last_made() const {
  const auto text = root_.empty() ? read_small_file("/proc/loadavg") : std::nullopt;
  const std::size_t blank = text ? text->rfind(' ') : std::string::npos;
  std::int32_t number = 0;
  if (blank != std::string::npos) std::from_chars(text->data() + blank + 1, text->data() + text->size(), number);
  return number;
}

// Numbers that may be of processes that were made since the last look. Those made meanwhile come at the next.
std::vector<std::int32_t> ProcAccount::new_ones() {
  const std::int32_t before = std::exchange(last_made_, last_made());
  const bool list = look_ % looks_between_lists == 0 || before == 0 || last_made_ < before ||
                    static_cast<std::size_t>(last_made_ - before) > 200 + known_.size();
  std::vector<std::int32_t> numbers;
  if (list)
    numbers = numbers_in(root_ + "/proc");
  else
    for (std::int32_t number = before + 1; number <= last_made_; ++number)
      if (process_cpu_time(number)) numbers.push_back(number);
  std::erase_if(numbers, [&](std::int32_t number) { return known_.contains(number); });
  return numbers;
}

// In a recorded tree this also reads stat, as there is no clock.
std::optional<Duration> ProcAccount::cpu_time(std::int32_t pid, Known& known) const {
  if (root_.empty()) return process_cpu_time(pid);
  const auto stat = read_proc_stat(file_of(pid, "stat"));
  if (!stat) return std::nullopt;
  if (stat->start_ticks != known.id.start_ticks) known.threads.clear();
  return recorded_cpu_time(fmt::format("{}/proc/{}", root_, pid), stat->user_ticks + stat->system_ticks, known.threads);
}

void ProcAccount::tell(Known& known, Duration cpu, CpuUses& uses) {
  const Duration used = cpu - known.cpu;
  if (used <= Duration{}) return;
  known.cpu = cpu;
  told_ += used;
  if (known.user_seen == 0 || look_ - known.user_seen >= looks_between_user_looks) {
    if (const auto status = read_small_file(file_of(known.id.pid, "status"))) known.user = user_of_status(*status).value_or(known.user);
    known.user_seen = look_;
  }
  if (const auto cgroup = read_small_file(file_of(known.id.pid, "cgroup"))) known.cgroup = cgroups_.id_of(cgroups_.path_in(*cgroup));
  uses.processes.push_back({known.id, known.parent, known.user, known.name, known.cgroup, used, false});
}

// False where it is not there any more, or is not the same process: then it has ended.
bool ProcAccount::look_at(std::int32_t pid, Known& known, CpuUses& uses) {
  const auto cpu = cpu_time(pid, known);
  if (!cpu) return false;
  if (*cpu == known.cpu && root_.empty()) return true;  // it has not run; another one would hardly have used as much
  auto stat = read_proc_stat(file_of(pid, "stat"));
  if (!stat || stat->start_ticks != known.id.start_ticks) return false;
  if (known.name != stat->name) known.user_seen = 0;  // exec
  known.parent = stat->parent;
  known.name = std::move(stat->name);
  tell(known, *cpu, uses);
  return true;
}

void ProcAccount::look_at_new(std::int32_t pid, CpuUses& uses) {
  auto stat = read_proc_stat(file_of(pid, "stat"));
  Known known;
  if (stat) known.id = {pid, stat->start_ticks};
  const auto cpu = stat ? cpu_time(pid, known) : std::nullopt;
  if (!cpu) {
    ++uses.vanished;
    return;
  }
  known.parent = stat->parent;
  known.name = std::move(stat->name);
  if (look_ == 0 || known.id.start_ticks < born_before_) known.cpu = *cpu;  // used before we began to look
  tell(known, *cpu, uses);
  known_.insert_or_assign(pid, std::move(known));
}

Duration ProcAccount::unattributed(const std::optional<BusyTime>& busy, Duration told) {
  if (!busy || !busy_at_begin_) return {};
  const Duration known = told + told_unattributed_;
  const Duration more = busy->used - busy_at_begin_->used - busy->slack - known;
  if (more <= Duration{}) return {};
  told_unattributed_ += more;
  return more;
}

void ProcAccount::begin() {
  CpuUses nothing;
  last_ = mono_now();
  if (root_.empty()) born_before_ = boot_now().ns / duration_of_ticks(1).base_units();
  for (const std::int32_t pid : new_ones()) look_at_new(pid, nothing);
  busy_at_begin_ = machine_busy_time(root_, cpuacct_);  // last, as read() does it first: what a look itself takes is nobody's too much
  look_ = 1;
}

Result<CpuUses> ProcAccount::read() {
  CpuUses uses;
  const auto busy = machine_busy_time(root_, cpuacct_);  // first: what is used from here on cannot be told twice
  for (auto entry = known_.begin(); entry != known_.end();) {
    if (look_at(entry->first, entry->second, uses)) {
      ++entry;
    } else {
      const Known& known = entry->second;
      uses.processes.push_back({known.id, known.parent, known.user, known.name, known.cgroup, Duration{}, true});
      entry = known_.erase(entry);
    }
  }
  for (const std::int32_t pid : new_ones()) look_at_new(pid, uses);
  ++look_;
  uses.unattributed = unattributed(busy, told_);
  uses.when = {last_, mono_now()};
  last_ = uses.when.end;
  return uses;
}

}  // namespace

Result<std::unique_ptr<CpuAccount>> open_proc_account(std::string root) {
  if (access((root + "/proc/stat").c_str(), R_OK) != 0 && numbers_in(root + "/proc").empty())
    return fail(ErrorCode::io, "there is no list of processes", root + "/proc", "mount /proc");
  auto account = std::make_unique<ProcAccount>(std::move(root));
  account->begin();
  return account;
}

}  // namespace joulery
