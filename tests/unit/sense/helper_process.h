// A helper program that prints one line when it is ready, and ends when its standard input does: with the object.
#pragma once

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <vector>

namespace joulery::testing {

class HelperProcess {
 public:
  explicit HelperProcess(std::vector<std::string> command) {
    int input[2], output[2];
    if (::pipe(input) != 0 || ::pipe(output) != 0) return;
    pid_ = ::fork();
    if (pid_ == 0) {
      ::dup2(input[0], 0), ::dup2(output[1], 1);
      for (const int fd : {input[0], input[1], output[0], output[1]}) ::close(fd);
      std::vector<char*> arguments;
      for (std::string& word : command) arguments.push_back(word.data());
      arguments.push_back(nullptr);
      ::execvp(arguments[0], arguments.data());
      ::_exit(127);
    }
    ::close(input[0]), ::close(output[1]);
    input_ = input[1];
    for (char c; ::read(output[0], &c, 1) == 1 && c != '\n';) line_ += c;
    ::close(output[0]);
  }
  HelperProcess(const HelperProcess&) = delete;
  HelperProcess& operator=(const HelperProcess&) = delete;
  ~HelperProcess() { stop(); }

  const std::string& line() const { return line_; }  // "" where it never became ready
  void stop() {
    if (pid_ <= 0) return;
    ::close(input_);
    ::kill(pid_, SIGTERM);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }

 private:
  pid_t pid_ = -1;
  int input_ = -1;
  std::string line_;
};

}  // namespace joulery::testing
