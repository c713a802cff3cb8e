#include "core/near_names.h"

#include <gtest/gtest.h>

namespace joulery {
namespace {

TEST(NearNames, CountsInsertDeleteReplaceAndSwap) {
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
  EXPECT_EQ(edit_distance("SWE", "SEW"), 1u);
  EXPECT_EQ(edit_distance("report", "Report"), 0u);
  EXPECT_EQ(edit_distance("", "abc"), 3u);
}

TEST(NearNames, NearestFirstAndNothingFarAway) {
  const std::vector<std::string> names{"run", "report", "export", "sql", "doctor"};
  EXPECT_EQ(nearest_name("reprot", names), "report");
  EXPECT_EQ(nearest_name("rnu", names), "run");
  EXPECT_EQ(nearest_name("xyzzy", names), "");
  EXPECT_EQ(near_names("eport", names, 2), (std::vector<std::string>{"report", "export"}));
}

}  // namespace
}  // namespace joulery
