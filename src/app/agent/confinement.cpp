#include "app/agent/confinement.h"

#include <fmt/format.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstdint>

namespace joulery {
namespace {

constexpr std::array kept_capabilities{CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH, CAP_BPF, CAP_PERFMON};

// What no part of an agent does.
constexpr long refused_calls[] = {
    SYS_init_module,
    SYS_finit_module,
    SYS_delete_module,
    SYS_kexec_load,
    SYS_reboot,
    SYS_swapon,
    SYS_swapoff,
    SYS_mount,
    SYS_umount2,
    SYS_pivot_root,
    SYS_chroot,
    SYS_open_tree,
    SYS_move_mount,
    SYS_fsopen,
    SYS_fsconfig,
    SYS_fsmount,
    SYS_ptrace,
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    SYS_unshare,
    SYS_setns,
    SYS_settimeofday,
    SYS_clock_settime,
    SYS_adjtimex,
    SYS_sethostname,
    SYS_setdomainname,
    SYS_acct,
    SYS_quotactl,
    SYS_keyctl,
    SYS_add_key,
    SYS_request_key,
    SYS_userfaultfd,
    SYS_setuid,
    SYS_setgid,
    SYS_setresuid,
    SYS_setresgid,
    SYS_setgroups,
    SYS_personality,
    SYS_syslog,
#ifdef SYS_kexec_file_load
    SYS_kexec_file_load,
#endif
#ifdef SYS_iopl
    SYS_iopl,
    SYS_ioperm,
#endif
};

#if defined(__x86_64__)
constexpr std::uint32_t architecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr std::uint32_t architecture = AUDIT_ARCH_AARCH64;
#endif

sock_filter load(std::size_t offset) { return BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(offset)); }
sock_filter give(std::uint32_t what) { return BPF_STMT(BPF_RET | BPF_K, what); }

// Another architecture's calls have other numbers: they are refused altogether.
std::vector<sock_filter> filter_of(bool runs_programs) {
  constexpr std::uint32_t refuse = SECCOMP_RET_ERRNO | EPERM;
  std::vector<sock_filter> program{load(offsetof(seccomp_data, arch)), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, architecture, 1, 0),
                                   give(refuse), load(offsetof(seccomp_data, nr))};
  const auto refuse_call = [&](long number) {
    program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(number), 0, 1));
    program.push_back(give(refuse));
  };
  for (const long number : refused_calls) refuse_call(number);
  if (!runs_programs) {
    refuse_call(SYS_execve);
    refuse_call(SYS_execveat);
  }
  program.push_back(give(SECCOMP_RET_ALLOW));
  return program;
}

bool is_kept(int capability) {
  for (const int kept : kept_capabilities)
    if (kept == capability) return true;
  return false;
}

// How many it had and has no longer. What may ever be had again goes too, where this process may say so (root).
Result<int> drop_capabilities() {
  for (int capability = 0; ::prctl(PR_CAPBSET_READ, capability) >= 0; ++capability)
    if (!is_kept(capability)) (void)::prctl(PR_CAPBSET_DROP, capability);
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct sets[2]{};
  if (::syscall(SYS_capget, &header, sets) != 0)
    return std::unexpected(error_from_errno(errno, "cannot read this process's rights", "capget"));
  std::uint32_t kept[2]{};
  for (const int capability : kept_capabilities) kept[capability / 32] |= 1u << (capability % 32);
  int dropped = 0;
  for (int i = 0; i < 2; ++i) {
    dropped += std::popcount(sets[i].permitted & ~kept[i]);
    sets[i].permitted &= kept[i];
    sets[i].effective &= kept[i];
    sets[i].inheritable = 0;
  }
  if (::syscall(SYS_capset, &header, sets) != 0) return std::unexpected(error_from_errno(errno, "cannot give up rights", "capset"));
  return dropped;
}

}  // namespace

Result<std::string> confine(bool runs_programs) {
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
    return std::unexpected(error_from_errno(errno, "cannot forbid new rights", "prctl PR_SET_NO_NEW_PRIVS"));
  const auto dropped = drop_capabilities();
  if (!dropped) return std::unexpected(dropped.error());
  std::vector<sock_filter> program = filter_of(runs_programs);
  const sock_fprog whole{static_cast<unsigned short>(program.size()), program.data()};
  // All threads: those that serve and read are there already.
  if (::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &whole) != 0)
    return std::unexpected(error_from_errno(errno, "cannot refuse system calls", "seccomp"));
  return fmt::format("gave up {} capabilities and {} system calls", *dropped, std::size(refused_calls) + (runs_programs ? 0 : 2));
}

}  // namespace joulery
