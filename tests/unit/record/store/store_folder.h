// A folder for a store under test, and a model of what was put in: rows in memory, added up the slow way.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "record/store/store.h"
#include "record/store/store_reader.h"

namespace joulery::test {

class StoreFolder {
 public:
  StoreFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "joulery-store-XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  ~StoreFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  StoreFolder(const StoreFolder&) = delete;
  StoreFolder& operator=(const StoreFolder&) = delete;
  std::string store() const { return path_ + "/store"; }
  std::string file(const std::string& name) const { return store() + "/" + name; }

 private:
  std::string path_;
};

inline std::unique_ptr<Store> open_store(const StoreFolder& folder, const StoreSettings& settings = {}) {
  auto store = Store::open(folder.store(), settings);
  EXPECT_TRUE(store) << (store ? "" : store.error().line());
  return store ? std::move(*store) : nullptr;
}

inline SeriesKey energy_of(const std::string& component, double unit = 0.001) {
  return {"component_joules", {{"component", component}, {"quality", "measured"}}, unit, SeriesKind::sum};
}

// 2026-03-01 00:00:00 UTC is day 20513.
inline constexpr std::int64_t march_ms = 20'513LL * 86'400'000;
inline WallTime at_ms(std::int64_t ms) { return {ms * 1'000'000}; }

// The sum and the held milliseconds of each series over [from, to), as the store answers.
struct Sum {
  std::int64_t count = 0, held_ms = 0;
  friend bool operator==(const Sum&, const Sum&) = default;
};
inline std::ostream& operator<<(std::ostream& out, const Sum& sum) { return out << sum.count << " over " << sum.held_ms << " ms"; }
using Sums = std::map<std::string, Sum>;  // by component

inline StoreAnswer ask(const StoreFolder& folder, std::int64_t from_ms, std::int64_t to_ms, Duration step, SeriesMatcher matcher = {}) {
  const auto reader = StoreReader::open(folder.store());
  EXPECT_TRUE(reader) << (reader ? "" : reader.error().line());
  if (!reader) return {};
  auto answer = reader->query({std::move(matcher), at_ms(from_ms), at_ms(to_ms), step, std::nullopt});
  EXPECT_TRUE(answer) << (answer ? "" : answer.error().line());
  return answer ? std::move(*answer) : StoreAnswer{};
}

inline Sums sums_of(const StoreAnswer& answer) {
  Sums sums;
  for (const auto& series : answer.series) {
    for (const auto& point : series.points) {
      Sum& sum = sums[series.key.labels.at("component")];
      sum.count += point.count;
      sum.held_ms += point.held.base_units() / 1'000'000;
    }
  }
  return sums;
}

}  // namespace joulery::test
