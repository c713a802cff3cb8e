#include "sense/aws/line_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

namespace joulery {
namespace {

constexpr std::size_t longest_line = 4 << 20;

// An anonymous file with this text, at its beginning; -1 where there can be none.
int file_of(const std::string& text) {
  const int fd = ::memfd_create("configuration", MFD_CLOEXEC);
  if (fd >= 0 && ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size())) ::lseek(fd, 0, SEEK_SET);
  return fd;
}

struct SpawnPlan {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  SpawnPlan(int output, int input) {
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, output, 1);
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    if (input >= 0) posix_spawn_file_actions_adddup2(&actions, input, 3);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;
  ~SpawnPlan() {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  }
};

}  // namespace

LineProcess::LineProcess(std::vector<std::string> command, std::string input_file)
    : command_(std::move(command)), input_(std::move(input_file)) {}

LineProcess::~LineProcess() { stop(); }

int LineProcess::start() {
  stop();
  int ends[2];
  if (command_.empty()) return ENOENT;
  if (::pipe2(ends, O_CLOEXEC) != 0) return errno;
  const int input = file_of(input_);
  std::vector<char*> arguments;
  for (std::string& word : command_) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const SpawnPlan plan(ends[1], input);
  const int error = ::posix_spawnp(&pid_, arguments[0], &plan.actions, &plan.attributes, arguments.data(), environ);
  ::close(ends[1]);
  if (input >= 0) ::close(input);
  if (error != 0) {
    ::close(ends[0]);
    pid_ = -1;
    return error;
  }
  output_ = ends[0];
  ::fcntl(output_, F_SETFL, O_NONBLOCK);
  return 0;
}

void LineProcess::stop() {
  if (pid_ > 0) {
    ::kill(-pid_, SIGKILL);
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {}
  }
  if (output_ >= 0) ::close(output_);
  pid_ = output_ = -1;
  text_.clear();
}

bool LineProcess::take_in() {
  std::array<char, 65536> block;
  const ssize_t count = ::read(output_, block.data(), block.size());
  if (count > 0) {
    text_.append(block.data(), static_cast<std::size_t>(count));
    if (text_.size() > longest_line) text_.clear();  // no line of ours is so long
    return true;
  }
  if (count < 0 && errno == EINTR) return true;
  if (count == 0) stop();                            // it has ended
  return false;
}

std::optional<std::string> LineProcess::newest_line(MonoTime until) {
  while (output_ >= 0) {
    if (take_in()) continue;
    const std::size_t end = text_.rfind('\n');
    if (end != std::string::npos || output_ < 0) break;
    const std::int64_t left = (until - mono_now()).base_units() / 1'000'000;
    if (left <= 0) break;
    pollfd waiting{output_, POLLIN, 0};
    ::poll(&waiting, 1, static_cast<int>(std::min<std::int64_t>(left, 60'000)));
  }
  const std::size_t end = text_.rfind('\n');
  if (end == std::string::npos) return std::nullopt;
  const std::size_t before = end == 0 ? std::string::npos : text_.rfind('\n', end - 1);
  const std::size_t begin = before == std::string::npos ? 0 : before + 1;
  std::string line = text_.substr(begin, end - begin);
  text_.erase(0, end + 1);
  return line;
}

}  // namespace joulery
