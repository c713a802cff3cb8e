#include "app/agent/answer_thread.h"

#include <csignal>
#include <system_error>

namespace joulery {

AnswerThread::AnswerThread(std::function<void()> done) : done_(std::move(done)) {}

AnswerThread::~AnswerThread() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  work_.notify_one();
  if (thread_.joinable()) thread_.join();
}

bool AnswerThread::take_on(std::uint64_t client, std::function<HttpAnswer()> make) {
  const std::lock_guard lock(mutex_);
  if (tasks_.size() >= most_waiting) return false;
  try {
    if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
  } catch (const std::system_error&) { return false; }
  tasks_.push_back({client, std::move(make)});
  work_.notify_one();
  return true;
}

std::vector<std::pair<std::uint64_t, HttpAnswer>> AnswerThread::ready() {
  const std::lock_guard lock(mutex_);
  return std::exchange(ready_, {});
}

void AnswerThread::run() {
  sigset_t all;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
  for (std::unique_lock lock(mutex_);;) {
    work_.wait(lock, [this] { return stopping_ || !tasks_.empty(); });
    if (stopping_) return;
    const Task task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    HttpAnswer answer = task.make();
    lock.lock();
    ready_.emplace_back(task.client, std::move(answer));
    lock.unlock();
    done_();
    lock.lock();
  }
}

}  // namespace joulery
