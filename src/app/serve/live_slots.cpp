#include "app/serve/live_slots.h"

#include <algorithm>

#include "app/loaded_run.h"
#include "judge/serving_report.h"

namespace joulery {
namespace {

std::optional<PowerModel> model_of(const CpuIdentity& machine) {
  auto model = power_model_of(machine);
  return model ? std::optional(*std::move(model)) : std::nullopt;
}

}  // namespace

LiveSlots::LiveSlots(const RunFacts& facts, Duration kept)
    : model_(model_of(facts.machine)), fill_(facts.fill), missing_(facts.missing), threads_(facts.machine.threads), kept_(kept) {}

void LiveSlots::advance(const LiveWindow& window, MonoTime begin) {
  const MonoTime from = until().value_or(begin), now = window.complete_until();
  if (now <= from || now == MonoTime{INT64_MAX}) return;
  const Interval when{from, now};
  const auto timeline = Timeline::from(window.recording(when), threads_);
  if (!timeline) return;
  const Ledger ledger(*timeline, model_, fill_, missing_);
  const Total total = ledger.total(when);
  quality_ = total.quality;
  if (total.energy && total.energy->value > Energy{}) {
    relative_error_ = (total.energy->high - total.energy->low) / total.energy->value / 2;
    watts_ = to_watts(total.energy->value / when.length());
    least_ = std::min(least_.value_or(*watts_), *watts_);
  }
  slots_.push_back(serving_slot(ledger, {when, ""}));
  const auto old = std::ranges::find_if(slots_, [&](const ServingSlot& slot) { return slot.when.end > now - kept_; });
  if (old - slots_.begin() > static_cast<std::ptrdiff_t>(slots_.size() / 4)) slots_.erase(slots_.begin(), old);
}

}  // namespace joulery
