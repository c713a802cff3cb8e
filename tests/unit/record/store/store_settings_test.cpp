#include "record/store/store_settings.h"

#include <gtest/gtest.h>

#include <map>

namespace joulery {
namespace {

Result<StoreSettings> read(const std::map<std::string, std::string>& texts) {
  Settings settings;
  for (const auto& [key, text] : texts) settings.set("agent.store." + key, {text, {"joulery.toml", 9}});
  return read_store_settings(settings);
}

constexpr double day = 86'400;

TEST(StoreSettings, AreThoseOfTheStoreWhereNothingIsSet) {
  const auto settings = read({});
  ASSERT_TRUE(settings);
  EXPECT_EQ(settings->keep_raw, seconds(2 * day));
  EXPECT_EQ(settings->keep_minutes, seconds(60 * day));
  EXPECT_FALSE(settings->keep_hours);
}

TEST(StoreSettings, SayHowLongEachLevelIsKept) {
  const auto settings = read({{"keep_seconds", "36h"}, {"keep_minutes", "10d"}, {"keep_hours", "400d"}});
  ASSERT_TRUE(settings);
  EXPECT_EQ(settings->keep_raw, seconds(1.5 * day));
  EXPECT_EQ(settings->keep_minutes, seconds(10 * day));
  EXPECT_EQ(*settings->keep_hours, seconds(400 * day));
  EXPECT_FALSE(read({{"keep_hours", "for ever"}})->keep_hours);
}

TEST(StoreSettings, AFinerLevelIsNotKeptLonger) {
  for (const auto& [texts, word] :
       std::vector<std::pair<std::map<std::string, std::string>, std::string>>{{{{"keep_seconds", "90d"}}, "keep_minutes"},
                                                                               {{{"keep_minutes", "1d"}}, "keep_minutes"},
                                                                               {{{"keep_hours", "59d"}}, "keep_minutes"},
                                                                               {{{"keep_hours", "always"}}, "keep_hours"},
                                                                               {{{"keep_hours", "-1d"}}, "keep_hours"},
                                                                               {{{"keep_seconds", "-1d"}}, "keep_seconds"},
                                                                               {{{"keep_minutes", "290000d"}}, "keep_minutes"}}) {
    const auto settings = read(texts);
    ASSERT_FALSE(settings) << word;
    EXPECT_EQ(settings.error().code, ErrorCode::usage);
    EXPECT_NE(settings.error().line().find(word), std::string::npos) << settings.error().line();
    EXPECT_NE(settings.error().line().find("joulery.toml:9"), std::string::npos) << settings.error().line();
  }
}

}  // namespace
}  // namespace joulery
