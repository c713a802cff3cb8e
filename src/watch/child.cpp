#include "watch/child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "watch/cpu_clock.h"
#include "watch/proc_stat.h"
#include "watch/program.h"

extern char** environ;

namespace joulery {
namespace {

// Everything that exec needs, made before vfork: the child may not allocate.
struct Launch {
  std::string program;
  std::vector<std::string> words;
  std::vector<std::string> variables;
  std::vector<char*> argv, envp;

  void point() {
    argv.clear();
    envp.clear();
    for (std::string& word : words) argv.push_back(word.data());
    for (std::string& variable : variables) envp.push_back(variable.data());
    argv.push_back(nullptr);
    envp.push_back(nullptr);
  }
};

std::vector<std::string> environment_with(const std::vector<std::pair<std::string, std::string>>& additions) {
  std::vector<std::string> variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::string_view name = text.substr(0, text.find('='));
    if (std::ranges::none_of(additions, [&](const auto& addition) { return addition.first == name; })) variables.emplace_back(text);
  }
  for (const auto& [name, value] : additions) variables.push_back(name + "=" + value);
  return variables;
}

// The PATH that the command will see decides where it is looked for.
std::string search_path_for(const ChildSpec& spec) {
  for (const auto& [name, value] : spec.environment)
    if (name == "PATH") return value;
  return search_path_of_environment();
}

// The child's side of vfork: shares our memory until exec, so it makes system calls and nothing else.
[[noreturn]] void become(const Launch& launch, const SignalGate& gate, int failure_pipe) {
  gate.restore_for_command();
  execve(launch.program.c_str(), launch.argv.data(), launch.envp.data());
  const int reason = errno;
  [[maybe_unused]] const ssize_t written = write(failure_pipe, &reason, sizeof reason);
  _exit(127);
}

struct Attempt {
  pid_t pid = -1;
  int failure = 0;  // errno of vfork or exec; 0 where the command runs
};

// The pipe closes by itself when exec succeeds. vfork copies no page tables, so the start costs the same however big we are.
__attribute__((noinline)) Attempt attempt(const Launch& launch, const SignalGate& gate) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return {-1, errno};
  const pid_t pid = vfork();
  if (pid == 0) become(launch, gate, ends[1]);
  int failure = pid < 0 ? errno : 0;
  close(ends[1]);
  ssize_t got = 0;
  if (pid > 0) {
    do got = read(ends[0], &failure, sizeof failure);
    while (got < 0 && errno == EINTR);
    if (got > 0) waitpid(pid, nullptr, 0);
  }
  close(ends[0]);
  return {pid, failure};
}

// A shell runs a text file that has no "#!" line itself, and refuses a binary one: so does it here.
bool looks_like_script(const std::string& path) {
  std::array<char, 80> head{};
  std::ifstream file(path, std::ios::binary);
  file.read(head.data(), head.size());
  const std::string_view text(head.data(), static_cast<std::size_t>(file.gcount()));
  return text.substr(0, text.find('\n')).find('\0') == std::string_view::npos;
}

bool is_or_descends_from(pid_t process, pid_t ancestor) {
  for (int generations = 0; process > 1 && generations < 1000; ++generations) {
    if (process == ancestor) return true;
    const auto stat = read_proc_stat(fmt::format("/proc/{}/stat", process));
    if (!stat) return false;
    process = stat->parent;
  }
  return false;
}

// True where a shell would have to be told that its foreground job stands still.
bool in_foreground_of_terminal() {
  const int terminal = open("/dev/tty", O_RDONLY | O_CLOEXEC | O_NOCTTY);
  if (terminal < 0) return false;
  const bool foreground = tcgetpgrp(terminal) == getpgrp();
  close(terminal);
  return foreground;
}

Duration to_duration(const timeval& time) {
  return nanoseconds(static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::int64_t>(time.tv_usec) * 1000);
}

}  // namespace

Result<Child> Child::start(const ChildSpec& spec, const SignalGate& gate) {
  if (spec.command.empty()) return fail(ErrorCode::usage, "no command to run", "", "write joulery run -- COMMAND");
  auto program = find_program(spec.command.front(), search_path_for(spec));
  if (!program) return std::unexpected(program.error());
  Launch launch{*program, spec.command, environment_with(spec.environment), {}, {}};
  launch.point();
  Attempt outcome = attempt(launch, gate);
  if (outcome.failure == ENOEXEC && looks_like_script(*program)) {
    launch.program = "/bin/sh";
    launch.words = spec.command;
    launch.words.front() = *program;
    launch.words.insert(launch.words.begin(), "sh");
    launch.point();
    outcome = attempt(launch, gate);
  }
  if (outcome.pid > 0 && outcome.failure == 0) return Child(outcome.pid, gate);
  if (outcome.pid < 0) return std::unexpected(error_from_errno(outcome.failure, "cannot start a process", *program));
  Error error = error_from_errno(outcome.failure, "cannot start the command", *program);
  // Whatever the file's fault is, a shell calls it "not executable", except one that is not there.
  if (error.code != ErrorCode::not_found) error.code = ErrorCode::permission;
  return std::unexpected(std::move(error));
}

Result<bool> Child::ended() {
  if (end_) return true;
  siginfo_t info{};
  if (waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) != 0)
    return std::unexpected(error_from_errno(errno, "cannot wait for the command", fmt::format("pid {}", pid_)));
  if (info.si_pid != pid_) return false;
  // Still a zombie: its own clock can be read for the last time.
  const auto own = process_cpu_time(pid_);
  int status = 0;
  rusage used{};
  if (wait4(pid_, &status, 0, &used) != pid_)
    return std::unexpected(error_from_errno(errno, "cannot wait for the command", fmt::format("pid {}", pid_)));
  ChildEnd end;
  end.time = mono_now();
  end.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  end.exit_code = end.signal != 0 ? 128 + end.signal : WEXITSTATUS(status);
  end.tree_cpu = to_duration(used.ru_utime) + to_duration(used.ru_stime);
  end.own_cpu = own.value_or(end.tree_cpu);
  end.max_resident_bytes = static_cast<std::int64_t>(used.ru_maxrss) * 1024;
  end_ = end;
  return true;
}

void Child::follow_stops() {
  siginfo_t info{};
  while (waitid(P_PID, static_cast<id_t>(pid_), &info, WSTOPPED | WCONTINUED | WNOHANG) == 0 && info.si_pid == pid_) {
    stopped_ = info.si_code == CLD_STOPPED;
    const int signal = info.si_status;
    info = {};
    if (!stopped_) continue;
    // A terminal's stop is for the whole job. SIGSTOP was aimed at the command alone: whoever sent it will continue it,
    // and nobody would continue us, unless a shell waits at a terminal for its foreground job.
    const bool terminal_stop = signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU;
    if (terminal_stop || in_foreground_of_terminal()) gate_->stop_self(terminal_stop ? signal : SIGSTOP);
  }
}

void Child::pass_on(const HeldSignal& signal) {
  if (signal.number == SIGCHLD || !signal.from_process || is_or_descends_from(signal.sender, pid_)) return;
  // `fg` continues the whole group: the command then runs already, and a second SIGCONT would be one too many.
  if (signal.number == SIGCONT && !stopped_) return;
  kill(pid_, signal.number);
}

Result<std::optional<ChildEnd>> Child::wait_until(MonoTime deadline) {
  while (true) {
    const auto over = ended();
    if (!over) return std::unexpected(over.error());
    if (*over) return end_;
    follow_stops();
    const auto signal = gate_->next(deadline);
    if (!signal) return std::nullopt;
    if (signal->number == SIGCONT) follow_stops();  // learns whether the command was continued with us
    pass_on(*signal);
  }
}

Result<ChildEnd> Child::wait() {
  while (true) {
    const auto end = wait_until(no_deadline);
    if (!end) return std::unexpected(end.error());
    if (*end) return **end;
  }
}

}  // namespace joulery
