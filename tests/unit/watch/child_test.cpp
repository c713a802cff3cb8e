#include "watch/child.h"

#include <gtest/gtest.h>
#include <pty.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <poll.h>
#include <thread>

#include "watch/cpu_clock.h"
#include "watch/proc_stat.h"
#include "watch/program.h"

namespace joulery {
namespace {

namespace fs = std::filesystem;

class Folder {
 public:
  Folder() {
    std::string pattern = (fs::temp_directory_path() / "child-test-XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  Folder(const Folder&) = delete;
  ~Folder() { fs::remove_all(path_); }
  fs::path operator/(const std::string& name) const { return path_ / name; }
  fs::path put(const std::string& name, const std::string& content, int mode = 0644) const {
    std::ofstream(path_ / name, std::ios::binary) << content;
    chmod((path_ / name).c_str(), static_cast<mode_t>(mode));
    return path_ / name;
  }

 private:
  fs::path path_;
};

std::string content_of(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

ChildSpec shell(const std::string& script) { return {{"/bin/sh", "-c", script}, {}}; }

Result<ChildEnd> run(const ChildSpec& spec) {
  auto gate = SignalGate::open();
  if (!gate) return std::unexpected(gate.error());
  auto child = Child::start(spec, *gate);
  if (!child) return std::unexpected(child.error());
  return child->wait();
}

// The shell's exit code for `words`, whether the command starts or not.
int code_of(const std::vector<std::string>& words) {
  const auto end = run({words, {}});
  return end ? end->exit_code : exit_code_of_start_failure(end.error());
}

// Waits for a condition as long as a slow machine may need; false when it never came.
template <class Condition>
bool eventually(Condition&& condition) {
  for (int tries = 0; tries < 2000; ++tries) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

char state_of(pid_t pid) {
  const auto stat = read_proc_stat("/proc/" + std::to_string(pid) + "/stat");
  return stat ? stat->state : '-';
}

pid_t only_child_of(pid_t pid) {
  pid_t child = 0;
  eventually([&] {
    std::ifstream file("/proc/" + std::to_string(pid) + "/task/" + std::to_string(pid) + "/children");
    return static_cast<bool>(file >> child);
  });
  return child;
}

// run_child with its command, in a process group of its own.
pid_t start_runner(const std::vector<std::string>& words) {
  const pid_t pid = fork();
  if (pid != 0) return pid;
  setpgid(0, 0);
  std::vector<char*> argv{const_cast<char*>(JOULERY_RUN_CHILD)};
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  execv(JOULERY_RUN_CHILD, argv.data());
  _exit(99);
}

int exit_code_of(pid_t pid) {
  int status = 0;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

TEST(Child, GivesTheExitCodeOfTheCommand) {
  EXPECT_EQ(code_of({"true"}), 0);
  EXPECT_EQ(code_of({"false"}), 1);
  EXPECT_EQ(code_of({"/bin/sh", "-c", "exit 255"}), 255);
}

TEST(Child, DeathBySignalIs128PlusItsNumber) {
  const auto end = run(shell("kill -KILL $$"));
  ASSERT_TRUE(end);
  EXPECT_EQ(end->exit_code, 137);
  EXPECT_EQ(end->signal, SIGKILL);
  EXPECT_EQ(code_of({"/bin/sh", "-c", "kill -SEGV $$"}), 139);
}

TEST(Child, AMissingCommandIs127) {
  EXPECT_EQ(code_of({"no-such-command-anywhere"}), 127);
  EXPECT_EQ(code_of({"./no-such-file"}), 127);
  EXPECT_EQ(code_of({""}), 127);
}

TEST(Child, WhatIsThereButCannotBeExecutedIs126) {
  const Folder folder;
  EXPECT_EQ(code_of({"/tmp"}), 126);
  EXPECT_EQ(code_of({folder.put("plain", "echo no\n", 0644)}), 126);
  EXPECT_EQ(code_of({folder.put("rubbish", std::string("\x01\x00\x02 not a program", 17), 0755)}), 126);
}

TEST(Child, AnErrorNamesTheFileAndTheReason) {
  const auto end = run({{"/tmp"}, {}});
  ASSERT_FALSE(end);
  EXPECT_EQ(end.error().line(), "cannot start the command: it is a directory: /tmp");
}

TEST(Child, AMissingInterpreterIs127) {
  const Folder folder;
  EXPECT_EQ(code_of({folder.put("script", "#!/no/such/interpreter\n", 0755)}), 127);
}

TEST(Child, AScriptWithoutAFirstLineRunsAsInAShell) {
  const Folder folder;
  const fs::path script = folder.put("script", "[ \"$1\" = 'a b' ] && exit 3\n", 0755);
  EXPECT_EQ(code_of({script, "a b"}), 3);
}

TEST(Child, FindsTheCommandInThePathItWillSee) {
  const Folder folder;
  fs::create_directories(folder / "first/tool");  // a directory of that name is passed over
  fs::create_directories(folder / "second");
  folder.put("second/tool", "#!/bin/sh\nexit 5\n", 0755);
  const std::string path = (folder / "first").string() + ":" + (folder / "second").string();
  const auto end = run({{"tool"}, {{"PATH", path}}});
  ASSERT_TRUE(end) << end.error().line();
  EXPECT_EQ(end->exit_code, 5);
  EXPECT_FALSE(find_program("tool", (folder / "first").string()));
}

TEST(Child, AFileInThePathThatMayNotBeExecutedIs126) {
  const Folder folder;
  folder.put("tool", "", 0644);
  const auto found = find_program("tool", (folder / "").string());
  ASSERT_FALSE(found);
  EXPECT_EQ(exit_code_of_start_failure(found.error()), 126);
}

TEST(Child, AddsAndReplacesEnvironment) {
  setenv("CHILD_TEST_OLD", "old", 1);
  ChildSpec spec = shell("[ \"$CHILD_TEST_OLD\" = new ] && [ \"$JOULERY_RING\" = /r ] && [ -n \"$PATH\" ]");
  spec.environment = {{"CHILD_TEST_OLD", "new"}, {"JOULERY_RING", "/r"}};
  const auto end = run(spec);
  ASSERT_TRUE(end);
  EXPECT_EQ(end->exit_code, 0);
}

TEST(Child, StandardInputReachesTheCommand) {
  const Folder folder;
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  ASSERT_EQ(write(ends[1], "over the pipe", 13), 13);
  close(ends[1]);
  const int before = dup(0);
  dup2(ends[0], 0);
  const auto end = run(shell("cat > " + (folder / "out").string()));
  dup2(before, 0);
  close(before);
  close(ends[0]);
  ASSERT_TRUE(end);
  EXPECT_EQ(content_of(folder / "out"), "over the pipe");
}

TEST(Child, StaysInOurProcessGroup) {
  const Folder folder;
  ASSERT_TRUE(run(shell("ps -o pgid= -p $$ > " + (folder / "group").string())));
  EXPECT_EQ(std::stol(content_of(folder / "group")), getpgrp());
}

// The line of /proc/PID/status that begins with `field`, as the command itself sees it.
std::string status_line(const fs::path& status, const std::string& field) {
  const std::string text = content_of(status);
  const std::size_t at = text.find(field);
  return at == std::string::npos ? "" : text.substr(at, text.find('\n', at) - at);
}

TEST(Child, InheritsMaskAndIgnoredSignalsAsWeGotThem) {
  const Folder folder;
  std::signal(SIGUSR2, SIG_IGN);
  auto gate = SignalGate::open();
  std::signal(SIGPIPE, SIG_IGN);  // our own affair: the command must not see it
  ASSERT_TRUE(gate);
  auto child = Child::start({{"cp", "/proc/self/status", (folder / "status").string()}, {}}, *gate);
  ASSERT_TRUE(child);
  ASSERT_TRUE(child->wait());
  std::signal(SIGPIPE, SIG_DFL);
  std::signal(SIGUSR2, SIG_DFL);
  EXPECT_EQ(status_line(folder / "status", "SigBlk"), "SigBlk:\t0000000000000000");
  EXPECT_EQ(status_line(folder / "status", "SigIgn"), "SigIgn:\t0000000000000800");  // bit 12 - 1: SIGUSR2
}

TEST(Child, AnIgnoredSigchldDoesNotLoseTheExitCode) {
  std::signal(SIGCHLD, SIG_IGN);
  const auto end = run(shell("exit 9"));
  struct sigaction after {};
  sigaction(SIGCHLD, nullptr, &after);
  std::signal(SIGCHLD, SIG_DFL);
  ASSERT_TRUE(end) << end.error().line();
  EXPECT_EQ(end->exit_code, 9);
  EXPECT_EQ(after.sa_handler, SIG_IGN);
}

TEST(Child, AnIgnoredSigchldReachesTheCommandIgnored) {
  const Folder folder;
  std::signal(SIGCHLD, SIG_IGN);
  const auto end = run({{"cp", "/proc/self/status", (folder / "status").string()}, {}});
  std::signal(SIGCHLD, SIG_DFL);
  ASSERT_TRUE(end);
  EXPECT_EQ(status_line(folder / "status", "SigIgn"), "SigIgn:\t0000000000010000");  // bit 17 - 1: SIGCHLD
}

TEST(Child, ADaemonLeftBehindIsNotWaitedFor) {
  const Folder folder;
  // The daemon keeps our stdout and a pipe's end open and outlives the command.
  const auto end = run(shell("(setsid sleep 300 & echo $! > " + (folder / "pid").string() + ") & wait; exit 4"));
  ASSERT_TRUE(end);
  EXPECT_EQ(end->exit_code, 4);
  const pid_t daemon = std::stoi(content_of(folder / "pid"));
  EXPECT_EQ(kill(daemon, 0), 0);
  kill(daemon, SIGKILL);
}

TEST(Child, ADeadlineReturnsWhileTheCommandRuns) {
  auto gate = SignalGate::open();
  ASSERT_TRUE(gate);
  auto child = Child::start({{"sleep", "300"}, {}}, *gate);
  ASSERT_TRUE(child);
  const MonoTime begin = mono_now();
  const auto nothing = child->wait_until(begin + milliseconds(20));
  ASSERT_TRUE(nothing);
  EXPECT_FALSE(*nothing);
  EXPECT_GE(mono_now() - begin, milliseconds(20));
  kill(child->pid(), SIGTERM);
  const auto end = child->wait();
  ASSERT_TRUE(end);
  EXPECT_EQ(end->exit_code, 143);
  EXPECT_EQ(child->wait()->exit_code, 143);  // asked again, the same answer
}

TEST(Child, CpuTimeOfTheTreeHoldsTheChildrenThatWereWaitedFor) {
  const std::string burn = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done";
  const auto alone = run(shell(burn));
  const auto nested = run(shell("/bin/sh -c '" + burn + "'; true"));
  ASSERT_TRUE(alone && nested);
  EXPECT_GT(alone->own_cpu, milliseconds(10));
  EXPECT_NEAR(to_seconds(alone->own_cpu), to_seconds(alone->tree_cpu), 2e-6 + 0.001 * to_seconds(alone->own_cpu));
  EXPECT_LT(to_seconds(nested->own_cpu), 0.5 * to_seconds(nested->tree_cpu));
  EXPECT_GT(alone->max_resident_bytes, 100'000);
}

TEST(ChildSignals, OneSentToUsAloneIsPassedOn) {
  const Folder folder;
  for (const int signal : {SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGINT, SIGQUIT, SIGWINCH}) {
    const std::string ready = (folder / ("ready" + std::to_string(signal))).string();
    const pid_t runner = start_runner({"/bin/bash", "-c", "trap 'exit 7' " + std::to_string(signal) + "; : > " + ready + "; while :; do sleep 0.02; done"});
    ASSERT_TRUE(eventually([&] { return fs::exists(ready); }));
    kill(runner, signal);
    EXPECT_EQ(exit_code_of(runner), 7) << signal;
  }
}

TEST(ChildSignals, WithoutATrapTheCodeIs128PlusTheSignal) {
  const pid_t runner = start_runner({"sleep", "300"});
  only_child_of(runner);
  kill(runner, SIGTERM);
  EXPECT_EQ(exit_code_of(runner), 143);
}

TEST(ChildSignals, OneThatTheCommandSentToItsGroupIsNotDoubled) {
  const Folder folder;
  // Counts how often SIGUSR1 arrives when the command signals its own group once.
  const std::string script = "n=0; trap 'n=$((n+1))' USR1; kill -USR1 0; sleep 0.3; echo $n > " + (folder / "count").string();
  EXPECT_EQ(exit_code_of(start_runner({"/bin/bash", "-c", script})), 0);
  EXPECT_EQ(content_of(folder / "count"), "1\n");
}

TEST(ChildSignals, KillingTheCommandIsSeen) {
  const pid_t runner = start_runner({"sleep", "300"});
  kill(only_child_of(runner), SIGKILL);
  EXPECT_EQ(exit_code_of(runner), 137);
}

TEST(ChildSignals, KillingUsLeavesTheCommandRunning) {
  const pid_t runner = start_runner({"sleep", "300"});
  const pid_t command = only_child_of(runner);
  kill(runner, SIGKILL);
  EXPECT_EQ(exit_code_of(runner), 1000 + SIGKILL);
  EXPECT_EQ(kill(command, 0), 0);
  EXPECT_NE(state_of(command), 'Z');
  kill(command, SIGKILL);
}

TEST(ChildSignals, AStopAimedAtTheCommandAloneWithNoTerminalDoesNotStopUs) {
  const pid_t runner = start_runner({"sleep", "300"});
  const pid_t command = only_child_of(runner);
  setsid();
  kill(command, SIGSTOP);
  ASSERT_TRUE(eventually([&] { return state_of(command) == 'T'; }));
  kill(command, SIGCONT);
  ASSERT_TRUE(eventually([&] { return state_of(command) == 'S'; }));
  EXPECT_EQ(state_of(runner), 'S');
  kill(runner, SIGTERM);
  EXPECT_EQ(exit_code_of(runner), 143);
}

TEST(SignalGate, GivesARequestToEndAndRestoresTheMask) {
  sigset_t before, after;
  pthread_sigmask(SIG_SETMASK, nullptr, &before);
  {
    auto gate = SignalGate::open();
    ASSERT_TRUE(gate);
    EXPECT_FALSE(gate->next_request_to_end(mono_now()));
    kill(getpid(), SIGWINCH);
    kill(getpid(), SIGTERM);
    const auto signal = gate->next_request_to_end(mono_now() + seconds(10));
    ASSERT_TRUE(signal);
    EXPECT_EQ(signal->number, SIGTERM);
    EXPECT_TRUE(signal->from_process);
    EXPECT_EQ(signal->sender, getpid());
  }
  pthread_sigmask(SIG_SETMASK, nullptr, &after);
  EXPECT_EQ(sigismember(&before, SIGTERM), sigismember(&after, SIGTERM));
}

// An interactive bash with job control on a pseudo-terminal, typed at like a person does.
class Terminal {
 public:
  Terminal() {
    pid_ = forkpty(&fd_, nullptr, nullptr, nullptr);
    if (pid_ == 0) {
      setenv("PS1", "ready> ", 1);
      setenv("TERM", "dumb", 1);
      setenv("HISTFILE", "", 1);
      execl("/bin/bash", "bash", "--norc", "--noprofile", "--noediting", "-i", nullptr);
      _exit(99);
    }
  }
  Terminal(const Terminal&) = delete;
  ~Terminal() {
    kill(pid_, SIGKILL);
    close(fd_);
    waitpid(pid_, nullptr, 0);
  }
  void type(const std::string& text) const { ASSERT_EQ(write(fd_, text.data(), text.size()), static_cast<ssize_t>(text.size())); }
  // Reads until `text` has appeared since the last call; false when it does not come.
  bool shows(const std::string& text, int patience = 200) {
    for (int tries = 0; tries < patience; ++tries) {
      const std::size_t at = seen_.find(text);
      if (at != std::string::npos) {
        seen_.erase(0, at + text.size());
        return true;
      }
      pollfd ready{fd_, POLLIN, 0};
      if (poll(&ready, 1, 100) <= 0) continue;
      char buffer[4096];
      const ssize_t got = read(fd_, buffer, sizeof buffer);
      if (got <= 0) return false;
      seen_.append(buffer, static_cast<std::size_t>(got));
    }
    return false;
  }
  const std::string& unread() const { return seen_; }

 private:
  int fd_ = -1;
  pid_t pid_ = 0;
  std::string seen_;
};

const std::string runner = JOULERY_RUN_CHILD;

TEST(ChildTerminal, CtrlCReachesTheCommandOnceAndWeOutliveIt) {
  Terminal terminal;
  ASSERT_TRUE(terminal.shows("ready> "));
  terminal.type(runner + " bash -c 'n=0; trap \"n=\\$((n+1))\" INT; echo go\"\"ing; sleep 1; sleep 0.3; echo count=$n; exit 6'; echo code=$?\n");
  ASSERT_TRUE(terminal.shows("going")) << terminal.unread();
  terminal.type("\x03");
  EXPECT_TRUE(terminal.shows("count=1")) << terminal.unread();
  EXPECT_TRUE(terminal.shows("code=6")) << terminal.unread();
}

TEST(ChildTerminal, CtrlCEndsACommandWithoutATrap) {
  Terminal terminal;
  ASSERT_TRUE(terminal.shows("ready> "));
  terminal.type(runner + " sh -c 'echo go\"\"ing; exec sleep 300'; echo code=$?\n");
  ASSERT_TRUE(terminal.shows("going"));
  terminal.type("\x03");
  EXPECT_TRUE(terminal.shows("code=130")) << terminal.unread();
}

TEST(ChildTerminal, CtrlZStopsTheJobAndFgContinuesIt) {
  Terminal terminal;
  ASSERT_TRUE(terminal.shows("ready> "));
  terminal.type(runner + " bash -c 'echo go\"\"ing; read line; echo got=$line; exit 8'; echo code=$?\n");
  ASSERT_TRUE(terminal.shows("going"));
  terminal.type("\x1a");
  ASSERT_TRUE(terminal.shows("Stopped")) << terminal.unread();
  ASSERT_TRUE(terminal.shows("code=148"));  // the shell's own answer for a job stopped by SIGTSTP
  ASSERT_TRUE(terminal.shows("ready> "));
  terminal.type("fg; echo code=$?\n");
  ASSERT_TRUE(terminal.shows("fg; echo"));
  terminal.type("hello\n");
  EXPECT_TRUE(terminal.shows("got=hello")) << terminal.unread();
  EXPECT_TRUE(terminal.shows("code=8")) << terminal.unread();
}

TEST(ChildTerminal, ACommandThatIgnoresCtrlZIsNotStoppedAndNorAreWe) {
  Terminal terminal;
  ASSERT_TRUE(terminal.shows("ready> "));
  terminal.type(runner + " bash -c 'trap \"\" TSTP; echo go\"\"ing; read line; echo got=$line; exit 8'; echo code=$?\n");
  ASSERT_TRUE(terminal.shows("going"));
  terminal.type("\x1a");
  terminal.type("hello\n");
  EXPECT_TRUE(terminal.shows("got=hello")) << terminal.unread();
  EXPECT_TRUE(terminal.shows("code=8")) << terminal.unread();
}

TEST(ChildTerminal, AForegroundCommandThatStopsItselfGivesTheShellBack) {
  Terminal terminal;
  ASSERT_TRUE(terminal.shows("ready> "));
  terminal.type(runner + " bash -c 'kill -STOP $$; echo on\"\"ward; exit 8'; echo code=$?\n");
  ASSERT_TRUE(terminal.shows("Stopped")) << terminal.unread();
  ASSERT_TRUE(terminal.shows("ready> "));
  terminal.type("fg\n");
  EXPECT_TRUE(terminal.shows("onward")) << terminal.unread();
}

TEST(ChildTerminal, ABackgroundReadOfTheTerminalStopsTheJob) {
  Terminal terminal;
  ASSERT_TRUE(terminal.shows("ready> "));
  terminal.type(runner + " bash -c 'read line; echo got=$line' &\n");
  ASSERT_TRUE(terminal.shows("ready> "));
  ASSERT_TRUE(eventually([&] {
    terminal.type("jobs\n");
    return terminal.shows("Stopped", 2);
  })) << terminal.unread();
  ASSERT_TRUE(terminal.shows("ready> "));
  terminal.type("fg\n");
  ASSERT_TRUE(terminal.shows("fg"));
  terminal.type("hello\n");
  EXPECT_TRUE(terminal.shows("got=hello")) << terminal.unread();
}

}  // namespace
}  // namespace joulery
