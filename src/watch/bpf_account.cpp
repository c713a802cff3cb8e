#include "watch/bpf_account.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <string>
#include <unordered_map>

#include "watch/bpf_program.h"

namespace joulery {
namespace {

constexpr std::int64_t ns_per_tick = 10'000'000;   // of /proc/PID/stat: USER_HZ is 100 on every machine Linux runs on but Alpha
constexpr ino_t first_pid_namespace = 0xEFFFFFFC;  // PROC_PID_INIT_INO

struct KeyHash {
  std::size_t operator()(const oncpu_key& key) const {
    return static_cast<std::size_t>((key.start ^ (key.cgroup << 17) ^ (std::uint64_t{key.pid} << 40)) * 0x9E3779B97F4A7C15ULL >> 16);
  }
};
struct KeyEqual {
  bool operator()(const oncpu_key& a, const oncpu_key& b) const { return a.start == b.start && a.cgroup == b.cgroup && a.pid == b.pid; }
};

ProcessId id_of(const oncpu_key& key) { return {static_cast<std::int32_t>(key.pid), static_cast<std::int64_t>(key.start) / ns_per_tick}; }

CpuUse use_of(const oncpu_key& key, const oncpu_value& value, Duration cpu, bool ended) {
  const std::string name(value.name, strnlen(value.name, sizeof value.name));
  return {id_of(key), value.parent, value.user, name, key.cgroup, cpu, ended};
}

class BpfAccount final : public CpuAccount {
 public:
  BpfAccount(BpfProgram program, MonoTime begin) : program_(std::move(program)), last_(begin) {}

  std::string_view method() const override { return "ebpf"; }
  Result<void> settle(bool idle_too);
  Result<CpuUses> read() override;

 private:
  void take_ended(CpuUses& uses);
  void add_rows(CpuUses& uses);
  Duration used_since(const oncpu_key& key, const oncpu_value& value);

  BpfProgram program_;
  MonoTime last_;
  std::unordered_map<oncpu_key, std::uint64_t, KeyHash, KeyEqual> told_;  // ns of each row that was told
  std::vector<BpfProgram::Row> rows_;                                     // of the last look
  std::vector<oncpu_key> ended_;                                          // told as ended at the last look
  std::uint64_t lost_ = 0;                                                // ns without a row that were told
};

// A CPU that idles is left in peace, unless it has been seen to run what the kernel had not told of: on some virtual machines the
// switches from one task (an idle task, too) reach no tracer.
Result<void> BpfAccount::settle(bool idle_too) {
  const auto cpus = program_.read_cpus();
  if (!cpus) return std::unexpected(cpus.error());
  bool any = false;
  for (std::uint32_t cpu = 0; cpu < cpus->size(); ++cpu)
    if (idle_too || (*cpus)[cpu].running != 0 || (*cpus)[cpu].missed != 0) any = program_.settle(cpu) || any;
  if (idle_too && !any) return fail(ErrorCode::unsupported, "eBPF: cannot look at what runs now", {}, "Linux 5.11 or later is needed");
  return {};
}

Duration BpfAccount::used_since(const oncpu_key& key, const oncpu_value& value) {
  std::uint64_t& told = told_[key];
  const std::uint64_t used = value.ns - std::min(told, std::uint64_t{value.ns});
  told += used;
  return nanoseconds(static_cast<std::int64_t>(used));
}

void BpfAccount::take_ended(CpuUses& uses) {
  for (const oncpu_key& key : ended_) {
    const auto value = program_.take(key);
    if (!value) continue;
    if (const Duration cpu = used_since(key, *value); cpu > Duration{}) uses.processes.push_back(use_of(key, *value, cpu, true));
    told_.erase(key);
  }
  ended_.clear();
}

void BpfAccount::add_rows(CpuUses& uses) {
  std::set<ProcessId> ended;  // a process has rows for cgroups that it has left, too
  for (const auto& [key, value] : rows_)
    if (value.ended) ended.insert(id_of(key));
  for (const auto& [key, value] : rows_) {
    const bool is_ended = !ended.empty() && ended.contains(id_of(key));
    if (is_ended) ended_.push_back(key);
    if (const Duration cpu = used_since(key, value); cpu > Duration{}) uses.processes.push_back(use_of(key, value, cpu, is_ended));
  }
}

Result<CpuUses> BpfAccount::read() {
  if (auto settled = settle(false); !settled) return std::unexpected(std::move(settled.error()));
  CpuUses uses;
  take_ended(uses);
  if (auto done = program_.read_rows(rows_); !done) return std::unexpected(std::move(done.error()));
  const auto cpus = program_.read_cpus();
  if (!cpus) return std::unexpected(cpus.error());
  add_rows(uses);
  uses.cgroups = program_.take_cgroups();
  std::uint64_t lost = 0;
  for (const oncpu_cpu& cpu : *cpus) lost += cpu.lost;
  uses.unattributed = nanoseconds(static_cast<std::int64_t>(lost - lost_));
  lost_ = lost;
  uses.when = {last_, mono_now()};
  last_ = uses.when.end;
  return uses;
}

bool sees_all_pids() {
  struct stat info{};
  return stat("/proc/self/ns/pid", &info) != 0 || info.st_ino == first_pid_namespace;
}

}  // namespace

Result<std::unique_ptr<CpuAccount>> open_bpf_account(const BpfAccountOptions& options) {
  if (!sees_all_pids())
    return fail(ErrorCode::unsupported, "eBPF counts the machine's pids, and this is a pid namespace of its own", "/proc/self/ns/pid",
                "run it in the host's pid namespace (docker run --pid=host, hostPID: true)");
  const MonoTime begin = mono_now();
  auto program = BpfProgram::load(options);
  if (!program) return std::unexpected(std::move(program.error()));
  auto account = std::make_unique<BpfAccount>(*std::move(program), begin);
  if (auto settled = account->settle(true); !settled) return std::unexpected(std::move(settled.error()));
  return account;
}

}  // namespace joulery
