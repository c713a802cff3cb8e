#include "watch/child.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "tests/unit/watch/helpers.h"
#include "watch/proc_stat.h"
#include "watch/program.h"

namespace joulery {
namespace {

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

// The same line as it must be where `also` is ignored beside what this test itself was started with (some shells and
// build tools ignore signals of their own, such as 32).
std::string ignored_with(int also) {
  const std::string own = status_line("/proc/self/status", "SigIgn");
  const std::uint64_t mask = std::stoull(own.substr(own.find('\t') + 1), nullptr, 16) | std::uint64_t{1} << (also - 1);
  return fmt::format("SigIgn:\t{:016x}", mask);
}

TEST(Child, InheritsMaskAndIgnoredSignalsAsWeGotThem) {
  const Folder folder;
  const std::string expected = ignored_with(SIGUSR2);
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
  EXPECT_EQ(status_line(folder / "status", "SigIgn"), expected);
}

TEST(Child, AnIgnoredSigchldDoesNotLoseTheExitCode) {
  std::signal(SIGCHLD, SIG_IGN);
  const auto end = run(shell("exit 9"));
  struct sigaction after{};
  sigaction(SIGCHLD, nullptr, &after);
  std::signal(SIGCHLD, SIG_DFL);
  ASSERT_TRUE(end) << end.error().line();
  EXPECT_EQ(end->exit_code, 9);
  EXPECT_EQ(after.sa_handler, SIG_IGN);
}

TEST(Child, AnIgnoredSigchldReachesTheCommandIgnored) {
  const Folder folder;
  const std::string expected = ignored_with(SIGCHLD);
  std::signal(SIGCHLD, SIG_IGN);
  const auto end = run({{"cp", "/proc/self/status", (folder / "status").string()}, {}});
  std::signal(SIGCHLD, SIG_DFL);
  ASSERT_TRUE(end);
  EXPECT_EQ(status_line(folder / "status", "SigIgn"), expected);
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
    const pid_t runner =
        start_runner({"/bin/bash", "-c", "trap 'exit 7' " + std::to_string(signal) + "; : > " + ready + "; while :; do sleep 0.02; done"});
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
  kill(command, SIGSTOP);
  ASSERT_TRUE(eventually([&] { return state_of(command) == 'T'; }));
  kill(command, SIGCONT);
  ASSERT_TRUE(eventually([&] { return state_of(command) == 'S'; }));
  EXPECT_NE(state_of(runner), 'T');  // it may just be looking at what its child did
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

}  // namespace
}  // namespace joulery
