#include "app/terminal_screen.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <utility>

namespace joulery {
namespace {

constexpr std::string_view enter_screen = "\x1b[?1049h\x1b[?25l\x1b[H", leave_screen = "\x1b[?25h\x1b[?1049l";

// What signal handlers need; one screen at a time.
termios before;
std::atomic<bool> ended = false, resized = false;

void write_all(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(STDOUT_FILENO, text.data(), text.size());
    if (written < 0 && errno != EINTR) return;
    if (written > 0) text.remove_prefix(static_cast<std::size_t>(written));
  }
}

void take_terminal() {
  termios raw = before;
  raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);  // keys at once; Ctrl-C and Ctrl-Z stay signals
  ::tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
  write_all(enter_screen);
}

void give_terminal_back() {
  write_all(leave_screen);
  ::tcsetattr(STDIN_FILENO, TCSADRAIN, &before);
}

void on_end(int) { ended = true; }
void on_resize(int) { resized = true; }
// Stopped by Ctrl-Z: the shell gets its terminal, and we take it again when we go on.
void on_stop(int signal) {
  const int number = errno;
  give_terminal_back();
  ::signal(signal, SIG_DFL);
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, signal);
  ::raise(signal);
  ::sigprocmask(SIG_UNBLOCK, &one, nullptr);  // stops here
  ::signal(signal, on_stop);
  take_terminal();
  resized = true;
  errno = number;
}

void handle(int signal, void (*handler)(int)) {
  struct sigaction action{};
  action.sa_handler = handler;
  ::sigaction(signal, &action, nullptr);
}

}  // namespace

Result<TerminalScreen> TerminalScreen::open() {
  if (!::isatty(STDIN_FILENO) || !::isatty(STDOUT_FILENO) || ::tcgetattr(STDIN_FILENO, &before) != 0)
    return fail(ErrorCode::unsupported, "this needs a terminal", "stdin and stdout", "--once prints one look and ends");
  TerminalScreen screen;
  screen.ours_ = true;
  ended = resized = false;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) handle(signal, on_end);
  handle(SIGTSTP, on_stop);
  handle(SIGWINCH, on_resize);
  take_terminal();
  return screen;
}

TerminalScreen::TerminalScreen(TerminalScreen&& other) noexcept : ours_(std::exchange(other.ours_, false)) {}

TerminalScreen::~TerminalScreen() {
  if (!ours_) return;
  give_terminal_back();
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGWINCH}) handle(signal, SIG_DFL);
}

TerminalScreen::Size TerminalScreen::size() {
  winsize window{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) != 0 || window.ws_col == 0 || window.ws_row == 0) return {};
  return {window.ws_col, window.ws_row};
}

void TerminalScreen::draw(const std::vector<std::string>& lines) {
  std::string all = "\x1b[H";
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (i > 0) all += "\r\n";
    all += lines[i] + "\x1b[K";
  }
  write_all(all + "\x1b[J");
}

std::vector<std::string> take_keys(std::string& bytes) {
  static constexpr std::array<std::pair<std::string_view, const char*>, 8> sequences{{{"\x1b[A", "up"},
                                                                                      {"\x1b[B", "down"},
                                                                                      {"\x1bOA", "up"},
                                                                                      {"\x1bOB", "down"},
                                                                                      {"\x1b[5~", "page up"},
                                                                                      {"\x1b[6~", "page down"},
                                                                                      {"\r", "enter"},
                                                                                      {"\n", "enter"}}};
  std::vector<std::string> keys;
  while (!bytes.empty()) {
    const auto known = std::ranges::find_if(sequences, [&](const auto& sequence) { return bytes.starts_with(sequence.first); });
    std::size_t length = 1;
    if (known != sequences.end()) {
      keys.emplace_back(known->second);
      length = known->first.size();
    } else if (bytes[0] == '\x1b') {
      // An unknown sequence ends with a letter or '~'; alone it is the key itself.
      const std::size_t end = bytes.size() > 2 && bytes[1] == '['
                                  ? bytes.find_first_of("~ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", 2)
                                  : std::string::npos;
      if (end == std::string::npos) keys.emplace_back("escape");
      length = end == std::string::npos ? 1 : end + 1;
    } else if (bytes[0] == '\x7f' || bytes[0] == '\b') {
      keys.emplace_back("backspace");
    } else {
      keys.emplace_back(1, bytes[0]);
    }
    bytes.erase(0, length);
  }
  return keys;
}

std::optional<std::string> TerminalScreen::key(Duration within) {
  static std::vector<std::string> waiting;
  const MonoTime limit = mono_now() + within;
  while (waiting.empty()) {
    if (ended) return "end";
    if (resized.exchange(false)) return "resize";
    const std::int64_t left = (limit - mono_now()).base_units();
    if (left <= 0) return std::nullopt;
    pollfd input{STDIN_FILENO, POLLIN, 0};
    const int ready = ::poll(&input, 1, static_cast<int>((left + 999'999) / 1'000'000));
    if (ready <= 0) continue;
    char bytes[64];
    const ssize_t count = ::read(STDIN_FILENO, bytes, sizeof bytes);
    if (count == 0 || (count < 0 && errno != EINTR)) return "end";
    if (count < 0) continue;
    std::string text(bytes, static_cast<std::size_t>(count));
    waiting = take_keys(text);
  }
  std::string first = std::move(waiting.front());
  waiting.erase(waiting.begin());
  return first;
}

}  // namespace joulery
