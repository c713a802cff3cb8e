#include "watch/signal_gate.h"

#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace joulery {
namespace {

constexpr int held_signals[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT, SIGWINCH, SIGCHLD};
constexpr int requests_to_end[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM};
constexpr int last_signal = 64;

sigset_t held_set() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : held_signals) sigaddset(&set, signal);
  return set;
}

timespec time_until(MonoTime deadline) {
  const std::int64_t ns = std::max<std::int64_t>(0, (deadline - mono_now()).base_units());
  return {ns / 1'000'000'000, ns % 1'000'000'000};
}

std::optional<HeldSignal> take(int fd) {
  signalfd_siginfo info{};
  if (read(fd, &info, sizeof info) != sizeof info) return std::nullopt;
  // Kernel-made signals have positive codes (SI_KERNEL, CLD_EXITED); kill, tgkill and sigqueue have 0 and below.
  return HeldSignal{static_cast<int>(info.ssi_signo), info.ssi_code <= 0, static_cast<pid_t>(info.ssi_pid)};
}

}  // namespace

Result<SignalGate> SignalGate::open() {
  SignalGate gate;
  for (int signal = 1; signal <= last_signal; ++signal) {
    struct sigaction now{};
    gate.ignored_[static_cast<std::size_t>(signal)] = sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_IGN;
  }
  const sigset_t held = held_set();
  if (pthread_sigmask(SIG_BLOCK, &held, &gate.mask_) != 0) return std::unexpected(error_from_errno(errno, "cannot hold back signals", ""));
  gate.fd_ = signalfd(-1, &held, SFD_CLOEXEC | SFD_NONBLOCK);
  if (gate.fd_ < 0) {
    const int reason = errno;
    pthread_sigmask(SIG_SETMASK, &gate.mask_, nullptr);
    return std::unexpected(error_from_errno(reason, "cannot hold back signals", "signalfd"));
  }
  // A parent that ignores SIGCHLD (trap '' CHLD) would have its children reaped unseen, exit code and CPU time lost.
  if (gate.ignored_[SIGCHLD]) std::signal(SIGCHLD, SIG_DFL);
  return gate;
}

SignalGate::SignalGate(SignalGate&& other) noexcept : fd_(std::exchange(other.fd_, -1)), mask_(other.mask_), ignored_(other.ignored_) {}

SignalGate::~SignalGate() {
  if (fd_ < 0) return;
  // The key that ended the command may still lie here unread: it has had its effect, and must not end us as well.
  while (take(fd_)) {}
  close(fd_);
  if (ignored_[SIGCHLD]) std::signal(SIGCHLD, SIG_IGN);
  pthread_sigmask(SIG_SETMASK, &mask_, nullptr);
}

std::optional<HeldSignal> SignalGate::next(MonoTime deadline) const {
  pollfd ready{fd_, POLLIN, 0};
  while (true) {
    if (const auto signal = take(fd_)) return signal;
    const timespec left = time_until(deadline);
    const int count = ppoll(&ready, 1, deadline == no_deadline ? nullptr : &left, nullptr);
    if (count < 0 && errno != EINTR) return std::nullopt;
    if (count == 0 && mono_now() >= deadline) return std::nullopt;
  }
}

std::optional<HeldSignal> SignalGate::next_request_to_end(MonoTime deadline) const {
  while (const auto signal = next(deadline)) {
    if (signal->number == SIGTSTP) stop_self(SIGTSTP);
    if (std::ranges::find(requests_to_end, signal->number) != std::end(requests_to_end)) return signal;
  }
  return std::nullopt;
}

void SignalGate::stop_self(int signal) const {
  sigset_t one;
  sigset_t before;
  sigemptyset(&one);
  sigaddset(&one, signal);
  // Made while blocked, so that it merges with one from the terminal that waits unread: two would stop us twice.
  kill(getpid(), signal);
  pthread_sigmask(SIG_UNBLOCK, &one, &before);  // taken here and now: every other thread has it blocked
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void SignalGate::restore_for_command() const {
  for (int signal = 1; signal <= last_signal; ++signal) {
    struct sigaction now{};
    const bool wanted = ignored_[static_cast<std::size_t>(signal)];
    if (sigaction(signal, nullptr, &now) != 0 || (now.sa_handler == (wanted ? SIG_IGN : SIG_DFL))) continue;
    struct sigaction original{};
    original.sa_handler = wanted ? SIG_IGN : SIG_DFL;
    sigaction(signal, &original, nullptr);
  }
  sigprocmask(SIG_SETMASK, &mask_, nullptr);
}

}  // namespace joulery
