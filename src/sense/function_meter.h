// A meter whose every channel is read by a function of its own: what vendors' libraries come to.
#pragma once

#include <expected>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "sense/live_file.h"
#include "sense/meter.h"

namespace joulery {

using ReadFunction = std::function<std::expected<std::int64_t, MissingReason>()>;

class FunctionMeter final : public Meter {
 public:
  void add(Channel channel, ReadFunction read) {
    channels_.push_back(std::move(channel));
    functions_.push_back(std::move(read));
  }
  std::span<const Channel> channels() const override { return channels_; }
  void read(Sink& sink) override {
    for (const ReadFunction& function : functions_) report(sink, function());
  }

 private:
  std::vector<Channel> channels_;
  std::vector<ReadFunction> functions_;
};

}  // namespace joulery
