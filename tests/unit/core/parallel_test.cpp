#include "core/parallel.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace joulery {
namespace {

TEST(Parallel, DoesEachPieceOnce) {
  for (const std::size_t count : {0, 1, 2, 1000}) {
    std::vector<std::atomic<int>> done(count);
    for_each_index(count, [&](std::size_t i) { ++done[i]; });
    for (const auto& times : done) EXPECT_EQ(times, 1);
  }
}

TEST(Parallel, ThrowsAgainWhatAPieceThrows) {
  EXPECT_THROW(for_each_index(100,
                              [](std::size_t i) {
                                if (i == 57) throw std::runtime_error("57");
                              }),
               std::runtime_error);
}

}  // namespace
}  // namespace joulery
