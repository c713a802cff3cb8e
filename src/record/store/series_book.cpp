#include "record/store/series_book.h"

namespace joulery {
namespace {

// After a restart the newest keys of the file are looked for, so that series go on under their numbers; beyond this many
// (a day of short-lived processes) a key may be written twice, which readers add up.
constexpr std::int64_t most_keys_taken_up = 20'000;

}  // namespace

SeriesId SeriesBook::id(const SeriesKey& key) {
  bytes_.clear();
  put_key(key, bytes_);
  work_.assign(bytes_.begin(), bytes_.end());
  const auto [at, is_new] = ids_.try_emplace(work_);
  if (!is_new) {
    entries_[at->second.value].forgotten = false;  // it is back before it was released
    return at->second;
  }
  std::uint32_t slot = static_cast<std::uint32_t>(entries_.size());
  if (free_.empty()) {
    entries_.emplace_back();
  } else {
    slot = free_.back();
    free_.pop_back();
  }
  at->second = {slot};
  entries_[slot] = {&at->first, claim(at->first), -1, key.kind, true, false};
  return at->second;
}

std::int64_t SeriesBook::claim(const std::string& key) {
  if (in_file_.empty()) return 0;
  const auto at = in_file_.find(key);
  return at == in_file_.end() ? 0 : at->second;
}

void SeriesBook::forget(SeriesId series) {
  if (!known(series) || entries_[series.value].forgotten) return;
  entries_[series.value].forgotten = true;
  forgotten_.push_back(series);
}

bool SeriesBook::first_in(std::int64_t tick, SeriesId series) {
  Entry& entry = entries_[series.value];
  if (entry.last_tick == tick) return false;
  entry.last_tick = tick;
  return true;
}

void SeriesBook::start_file(const SeriesCatalogue* catalogue) {
  for (Entry& entry : entries_) entry.number = 0;
  in_file_.clear();
  if (catalogue == nullptr) return;
  std::int64_t newest = 0;
  catalogue->each({}, [&](std::int64_t number, const KeyView&) { newest = number; });
  catalogue->each({}, [&](std::int64_t number, const KeyView& key) {
    if (number <= newest - most_keys_taken_up) return;
    bytes_.clear();
    put_key(owned(key), bytes_);
    in_file_[std::string(bytes_.begin(), bytes_.end())] = number;
  });
  for (Entry& entry : entries_) {
    if (entry.used) entry.number = claim(*entry.key);
  }
}

void SeriesBook::release() {
  for (const SeriesId series : forgotten_) {
    Entry& entry = entries_[series.value];
    if (!entry.used || !entry.forgotten) continue;
    const std::string key = *entry.key;
    entry = {};
    ids_.erase(key);
    free_.push_back(series.value);
  }
  forgotten_.clear();
}

}  // namespace joulery
