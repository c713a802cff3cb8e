#include "app/agent/store_thread.h"

namespace joulery {

StoreThread::StoreThread(Store& store, Say say)
    : store_(store), say_(std::move(say)), thread_([this](const std::stop_token& stop) { run(stop); }) {}

StoreThread::~StoreThread() {
  thread_.request_stop();
  thread_.join();
  flush();
}

void StoreThread::wake() {
  {
    const std::lock_guard lock(mutex_);
    more_ = true;
  }
  wake_.notify_one();
}

std::string StoreThread::trouble() const {
  const std::lock_guard lock(mutex_);
  return trouble_;
}

void StoreThread::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    {
      std::unique_lock lock(mutex_);
      if (!wake_.wait(lock, stop, [&] { return more_; })) return;
      more_ = false;
    }
    flush();
  }
}

// The store tells each change once, as events; an error in between is the same trouble going on.
void StoreThread::flush() {
  const auto done = store_.flush();
  for (const StoreEvent& event : store_.take_events()) say_("store: " + event.text);
  const std::lock_guard lock(mutex_);
  trouble_ = done ? "" : done.error().line();
}

}  // namespace joulery
