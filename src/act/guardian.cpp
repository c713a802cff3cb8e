#include "act/guardian.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <utility>

namespace joulery {
namespace {

constexpr const char* ourselves = "/proc/self/exe";
constexpr std::string_view back = "back ", settled = "settled ", open = "open ", finished = "finished\n";

struct Pipe {
  int read_end = -1, write_end = -1;
};

// Above the numbers that the guardian's own files get, so that giving it one never closes another.
Result<Pipe> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return std::unexpected(error_from_errno(errno, "cannot make a pipe", ""));
  Pipe made{::fcntl(ends[0], F_DUPFD_CLOEXEC, 10), ::fcntl(ends[1], F_DUPFD_CLOEXEC, 10)};
  ::close(ends[0]);
  ::close(ends[1]);
  return made;
}

// 0, or an errno.
int spawn(std::vector<std::string> words, int lifeline, int answers, int journal, pid_t& pid) {
  posix_spawn_file_actions_t files;
  posix_spawnattr_t how;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawnattr_init(&how);
  ::posix_spawn_file_actions_adddup2(&files, lifeline, Guardian::lifeline);
  ::posix_spawn_file_actions_adddup2(&files, answers, Guardian::answers);
  ::posix_spawn_file_actions_adddup2(&files, journal, Guardian::journal_file);
  ::posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSID);
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const int failed = ::posix_spawn(&pid, ourselves, &files, &how, arguments.data(), environ);
  ::posix_spawnattr_destroy(&how);
  ::posix_spawn_file_actions_destroy(&files);
  return failed;
}

void write_all(int descriptor, const std::string& text) {
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t size = ::write(descriptor, text.data() + at, text.size() - at);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return;
    at += static_cast<std::size_t>(size);
  }
}

std::string read_all(int descriptor) {
  std::string text;
  std::array<char, 1024> block;
  for (;;) {
    const ssize_t size = ::read(descriptor, block.data(), block.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return text;
    text.append(block.data(), static_cast<std::size_t>(size));
  }
}

std::string one_line(std::string text) {
  for (char& c : text)
    if (c == '\n') c = ' ';
  return text;
}

}  // namespace

Result<Guardian> Guardian::start(const UndoJournal& journal, const std::string& sysroot) {
  const auto line = make_pipe();
  if (!line) return std::unexpected(line.error());
  const auto answer = make_pipe();
  if (!answer) return std::unexpected(answer.error());
  const int kept = ::fcntl(journal.descriptor(), F_DUPFD_CLOEXEC, 10);
  std::vector<std::string> words{"joulery", "power", "--guard", journal.path()};
  if (!sysroot.empty()) words.insert(words.end(), {"--sysroot", sysroot});
  pid_t pid = -1;
  const int failed = spawn(std::move(words), line->read_end, answer->write_end, kept, pid);
  for (const int end : {line->read_end, answer->write_end, kept}) ::close(end);
  Guardian guardian(failed == 0 ? pid : -1, line->write_end, answer->read_end);
  if (failed != 0) return std::unexpected(error_from_errno(failed, "cannot start the process that would put power limits back", ourselves));
  // One byte says that it stands: from then on it may be relied upon.
  char byte = 0;
  ssize_t got = 0;
  do got = ::read(guardian.answer_, &byte, 1);
  while (got < 0 && errno == EINTR);
  if (got != 1) return fail(ErrorCode::io, "the process that would put power limits back did not start", ourselves);
  return guardian;
}

Guardian::Guardian(Guardian&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), line_(std::exchange(other.line_, -1)), answer_(std::exchange(other.answer_, -1)) {}

Guardian::~Guardian() { (void)finish(); }

std::optional<std::vector<Undone>> Guardian::finish() {
  if (line_ < 0) return std::nullopt;
  ::close(std::exchange(line_, -1));
  std::string text = read_all(answer_);
  ::close(std::exchange(answer_, -1));
  if (pid_ > 0)
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {}
  if (!text.ends_with(finished)) return std::nullopt;
  std::vector<Undone> all;
  for (std::size_t at = 0; at + finished.size() < text.size();) {
    const std::size_t end = text.find('\n', at);
    const std::string line = text.substr(at, end - at);
    const bool as_before = line.starts_with(back), is_settled = as_before || line.starts_with(settled);
    all.push_back({is_settled, as_before, line.substr(line.find(' ') + 1)});
    at = end + 1;
  }
  return all;
}

int Guardian::stand_guard(const std::string& path, PowerControl& control) {
  for (const int ignored : {SIGINT, SIGQUIT, SIGHUP, SIGTERM, SIGPIPE, SIGTSTP, SIGTTIN, SIGTTOU}) ::signal(ignored, SIG_IGN);
  if (::fcntl(journal_file, F_GETFD) < 0 || ::fcntl(lifeline, F_GETFD) < 0) return 1;
  (void)::fcntl(journal_file, F_SETFD, FD_CLOEXEC);
  UndoJournal journal = UndoJournal::adopt(journal_file, path);
  [[maybe_unused]] const bool cleared = ::chdir("/") == 0;
  write_all(answers, "1");
  read_all(lifeline);  // nobody ever writes: it ends when the last who holds the other end is gone
  std::string told;
  bool all_settled = true;
  for (const Undone& undone : control.undo(journal)) {
    told += std::string(undone.as_before ? back : undone.settled ? settled : open) + one_line(undone.text) + "\n";
    all_settled = all_settled && undone.settled;
  }
  write_all(answers, told + std::string(finished));
  return all_settled ? 0 : 1;
}

}  // namespace joulery
