#include "watch/open_cpu_account.h"

#include <utility>

#include "watch/bpf_account.h"
#include "watch/cgroup_mounts.h"
#include "watch/proc_account.h"
#include "watch/proc_stat.h"

namespace joulery {
namespace {

Result<std::unique_ptr<CpuAccount>> open_ebpf(const std::string& root) {
  if (!root.empty()) return fail(ErrorCode::unsupported, "eBPF looks at the running machine alone, not at a recorded one", root);
  BpfAccountOptions options;
  if (const auto hierarchy = find_cpu_hierarchy(read_small_file("/proc/self/mountinfo").value_or("")))
    options.controller = hierarchy->controller;
  return open_bpf_account(options);
}

}  // namespace

std::optional<CpuAccountChoice> cpu_account_choice(std::string_view word) {
  if (word == "auto") return CpuAccountChoice::best;
  if (word == "ebpf") return CpuAccountChoice::ebpf;
  if (word == "proc") return CpuAccountChoice::proc;
  return std::nullopt;
}

Result<OpenedCpuAccount> open_cpu_account(const std::string& root, CpuAccountChoice choice) {
  OpenedCpuAccount opened;
  if (choice != CpuAccountChoice::proc) {
    auto account = open_ebpf(root);
    if (account) {
      opened.account = *std::move(account);
      return opened;
    }
    if (choice == CpuAccountChoice::ebpf) return std::unexpected(std::move(account.error()));
    opened.instead_of_ebpf = std::move(account.error());
  }
  auto account = open_proc_account(root);
  if (!account) return std::unexpected(std::move(account.error()));
  opened.account = *std::move(account);
  return opened;
}

}  // namespace joulery
