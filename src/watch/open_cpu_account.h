// The one way to who used the CPUs that is best on this machine.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/result.h"
#include "watch/cpu_account.h"

namespace joulery {

enum class CpuAccountChoice : std::uint8_t { best, ebpf, proc };  // best: eBPF where it is allowed, else /proc

// "auto", "ebpf", "proc"; nothing for another word.
std::optional<CpuAccountChoice> cpu_account_choice(std::string_view word);

struct OpenedCpuAccount {
  std::unique_ptr<CpuAccount> account;
  std::optional<Error> instead_of_ebpf;  // why it is /proc where `best` was asked for: what is missing, and the remedy
};

// `root` as that of Machine: "" for this machine; a recorded tree has /proc alone.
// Errors: with `ebpf` those of open_bpf_account(), with the others those of open_proc_account().
Result<OpenedCpuAccount> open_cpu_account(const std::string& root, CpuAccountChoice choice);

}  // namespace joulery
