#include "sense/remote/remote_meter.h"

#include <algorithm>
#include <utility>

namespace joulery {
namespace {

constexpr Duration pause_after_refusal = milliseconds(600'000);

}  // namespace

void Backoff::failed(MonoTime now, MissingReason reason) {
  pause_ = pause_ == Duration{} ? first_ : std::min(longest_, nanoseconds(pause_.base_units() * 2));
  next_ = now + (reason == MissingReason::permission ? std::max(pause_, pause_after_refusal) : pause_);
}

RemoteMeter::RemoteMeter(std::unique_ptr<RemoteSource> source, RemotePace pace)
    : source_(std::move(source)), pace_(pace), backoff_(pace.first_pause, pace.longest_pause), channels_(source_->channels()) {}

// A failed probe says nothing against asking again in the first round, unless the login was refused.
Answer<void> RemoteMeter::probe(Duration limit) {
  const auto answer = exchange(limit);
  channels_ = source_->channels();
  if (answer) return {};
  if (answer.error().reason != MissingReason::permission) backoff_.answered();
  return std::unexpected(answer.error());
}

Answer<RemoteAnswer> RemoteMeter::exchange(Duration limit) {
  auto answer = source_->ask(limit);
  if (answer && answer->age > pace_.max_age)
    answer = std::unexpected(Trouble{MissingReason::timed_out, "its last value is older than max_age", ""});
  if (answer) {
    backoff_.answered();
  } else {
    backoff_.failed(mono_now(), answer.error().reason);
    last_reason_ = answer.error().reason;
  }
  return answer;
}

void RemoteMeter::read(Sink& sink) {
  const MonoTime before = mono_now();
  if (!backoff_.may_ask(before)) {
    for (std::size_t i = 0; i < channels_.size(); ++i) sink.missing(last_reason_);
    return;
  }
  const auto answer = exchange(pace_.timeout);
  const MonoTime after = mono_now();
  for (std::size_t i = 0; i < channels_.size(); ++i) {
    if (!answer)
      sink.missing(answer.error().reason, before, after);
    else if (i >= answer->values.size())
      sink.missing(MissingReason::gone, before, after);
    else if (const RemoteValue& value = answer->values[i]; value)
      sink.value(*value, before, after);
    else
      sink.missing(value.error(), before, after);
  }
}

}  // namespace joulery
