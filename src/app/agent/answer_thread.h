// Makes answers that take long (a look through the store's history) beside the server's thread, which meanwhile serves all
// others.
//
// Invariant: at most `most_waiting` wait; each that was taken on comes back once, unless the thread is destroyed before.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "app/agent/http_message.h"

namespace joulery {

class AnswerThread {
 public:
  static constexpr std::size_t most_waiting = 32;

  // `done` is called, by this thread, whenever an answer is ready.
  explicit AnswerThread(std::function<void()> done);
  ~AnswerThread();  // after the answer that is being made
  AnswerThread(const AnswerThread&) = delete;
  AnswerThread& operator=(const AnswerThread&) = delete;

  // False where too many wait, or no thread could be started.
  bool take_on(std::uint64_t client, std::function<HttpAnswer()> make);
  std::vector<std::pair<std::uint64_t, HttpAnswer>> ready();

 private:
  struct Task {
    std::uint64_t client;
    std::function<HttpAnswer()> make;
  };
  void run();

  std::function<void()> done_;
  std::mutex mutex_;  // over all below
  std::condition_variable work_;
  bool stopping_ = false;
  std::deque<Task> tasks_;
  std::vector<std::pair<std::uint64_t, HttpAnswer>> ready_;
  std::thread thread_;  // begins with the first task
};

}  // namespace joulery
