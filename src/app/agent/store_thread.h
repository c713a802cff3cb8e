// Writes the store once a tick in a thread of its own, so that a slow disk delays no tick, and says what befalls it.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "record/store/store.h"

namespace joulery {

class StoreThread {
 public:
  using Say = std::function<void(const std::string&)>;

  StoreThread(Store& store, Say say);
  ~StoreThread();  // writes what is left

  void wake();
  // Why nothing can be stored now; "" where it can.
  std::string trouble() const;

 private:
  void run(const std::stop_token& stop);
  void flush();

  Store& store_;
  Say say_;
  mutable std::mutex mutex_;
  std::condition_variable_any wake_;
  bool more_ = false;
  std::string trouble_;
  std::jthread thread_;
};

}  // namespace joulery
