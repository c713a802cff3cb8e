#include "record/column.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <limits>
#include <random>

namespace joulery {
namespace {

using Values = std::vector<std::int64_t>;

Bytes packed(const Values& values) {
  ColumnCodec codec;
  Bytes out;
  codec.encode(values, out);
  return out;
}

// Also: skipping ends where decoding ends, and every proper prefix is refused.
void expect_round_trip(const Values& values) {
  const Bytes bytes = packed(values);
  ColumnCodec codec;
  ByteReader in(bytes), skipped(bytes);
  Values decoded(values.size());
  ASSERT_TRUE(codec.decode(in, decoded));
  ASSERT_EQ(decoded, values);
  ASSERT_TRUE(in.at_end());
  ASSERT_TRUE(codec.skip(skipped, values.size()));
  ASSERT_TRUE(skipped.at_end());
  ByteReader cut({bytes.data(), bytes.size() - 1});
  ASSERT_FALSE(codec.decode(cut, decoded));
}

// A counter as Linux's powercap shows it on a processor with energy status unit `esu`: floor(counts * (10^9 >> esu) / 1000).
Values rapl_counter(unsigned esu, std::size_t rows, double watts, double noise, double seconds, std::uint64_t start) {
  std::mt19937_64 random(esu);
  std::normal_distribution<double> joules(watts * seconds, watts * seconds * noise);
  Values values;
  std::uint64_t counts = start;
  for (std::size_t i = 0; i < rows; ++i) {
    counts = (counts + static_cast<std::uint64_t>(std::max(0.0, joules(random)) * double(1u << esu))) & 0xffffffff;
    values.push_back(static_cast<std::int64_t>(counts * (1'000'000'000u >> esu) / 1000));
  }
  return values;
}

TEST(Column, EdgesComeBack) {
  constexpr auto least = std::numeric_limits<std::int64_t>::min(), greatest = std::numeric_limits<std::int64_t>::max();
  for (const Values& values : std::vector<Values>{{},
                                                  {0},
                                                  {least},
                                                  {greatest},
                                                  {least, greatest},
                                                  {greatest, least, greatest, 0, -1},
                                                  {least, least},
                                                  {0, 1},
                                                  {5, 5, 5},
                                                  {-10, 0, 10},
                                                  {least, 0},
                                                  {1, 2, 4, 8},
                                                  {1000, 2000, 4000}}) {
    expect_round_trip(values);
  }
}

RC_GTEST_PROP(Column, AnyValuesComeBack, (const Values& values)) { expect_round_trip(values); }

RC_GTEST_PROP(Column, CountersOfAnyStepComeBack, ()) {
  const auto step = *rc::gen::inRange<std::int64_t>(1, 1'000'000'000);
  const auto start = *rc::gen::arbitrary<std::int64_t>();
  Values values;
  std::uint64_t value = static_cast<std::uint64_t>(start);
  for (const auto k : *rc::gen::container<std::vector<std::uint16_t>>(rc::gen::arbitrary<std::uint16_t>())) {
    values.push_back(static_cast<std::int64_t>(value += static_cast<std::uint64_t>(step) * k));  // wraps past 2^64 too
  }
  expect_round_trip(values);
}

TEST(Column, RaplCountersComeBack) {
  for (unsigned esu = 10; esu <= 20; ++esu) expect_round_trip(rapl_counter(esu, 3000, 50, 0.05, 0.1, 4'294'967'296 - 50'000'000));
}

TEST(Column, SteadyColumnsCostNextToNothing) {
  Values grid;
  for (std::int64_t i = 0; i < 4096; ++i) grid.push_back(1'000'000 + i * 100'000);
  EXPECT_LT(packed(grid).size(), 24u);
  EXPECT_LT(packed(Values(4096, 250'000)).size(), 24u);
}

// Shannon: noise of standard deviation s (in counts) costs log2(s * sqrt(2 pi e)) bits; 50 W at 10 Hz with 1 % noise and a
// count of 61 uJ: s = 0.05 J / 61.035 uJ = 819 counts, so 11.7 bits. A tenth more is allowed.
TEST(Column, ARaplCounterCostsItsNoise) {
  const Values values = rapl_counter(14, 4096, 50, 0.01, 0.1, 1'000'000);
  EXPECT_LT(static_cast<double>(packed(values).size()) * 8 / 4096, 11.7 * 1.1);
}

RC_GTEST_PROP(Column, AnyBytesAreRefusedOrDecoded, (const Bytes& bytes)) {
  ColumnCodec codec;
  const auto rows = *rc::gen::inRange<std::size_t>(0, 300);
  Values values(rows);
  ByteReader in(bytes), skipped(bytes);
  if (codec.decode(in, values)) RC_ASSERT(codec.skip(skipped, rows));
}

}  // namespace
}  // namespace joulery
