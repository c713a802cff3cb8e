// What the tests of rings share: a ring directory, a reader, and children that mark.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>

#include "watch/mark_reader.h"
#include "watch/mark_ring.h"
#include "watch/ring_directory.h"

namespace joulery {

namespace fs = std::filesystem;

class MarkRing : public testing::Test {
 protected:
  void SetUp() override {
    parent_ = fs::temp_directory_path() / ("joulery-test-" + std::to_string(getpid()));
    fs::create_directory(parent_);
    directory_.emplace(RingDirectory::make_in(parent_).value());
    reader_.emplace(directory_->path());
  }
  void TearDown() override {
    directory_.reset();
    fs::remove_all(parent_);
  }

  // Runs `body` in a child that was given the ring directory; the child's pid.
  template <class Body>
  pid_t start(Body body) {
    const pid_t child = fork();
    if (child != 0) return child;
    setenv(ring_environment_variable, directory_->path().c_str(), 1);
    body();
    _exit(0);
  }
  static int wait_for(pid_t child) {
    int status = -1;
    waitpid(child, &status, 0);
    return status;
  }
  template <class Body>
  pid_t run(Body body) {
    const pid_t child = start(body);
    EXPECT_EQ(wait_for(child), 0);
    return child;
  }
  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(directory_->path()), fs::directory_iterator{}));
  }

  fs::path parent_;
  std::optional<RingDirectory> directory_;
  std::optional<MarkReader> reader_;
};

}  // namespace joulery
