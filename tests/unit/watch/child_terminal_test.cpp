// Job control at a terminal, with a real shell: what Ctrl-C, Ctrl-Z and fg do to the command and to us.
#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>

#include "tests/unit/watch/helpers.h"

namespace joulery {
namespace {

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
  terminal.type(runner +
                " bash -c 'n=0; trap \"n=\\$((n+1))\" INT; echo go\"\"ing; sleep 1; sleep 0.3; echo count=$n; exit 6'; echo code=$?\n");
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
