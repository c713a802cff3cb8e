#include "config/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace joulery {
namespace {

using ::testing::ElementsAre;

Settings some() {
  Settings settings;
  settings.set("carbon.place", {std::string("FR"), {"/etc/joulery/joulery.toml", 2}});
  settings.set("carbon.pue", {std::int64_t{2}, {"/etc/joulery/joulery.toml", 3}});
  settings.set("meters.rack.kind", {std::string("snmp"), {"joulery.toml", 1}});
  settings.set("meters.rack.timeout", {std::string("5s"), {"joulery.toml", 2}});
  settings.set("meters.bmc.kind", {std::string("redfish"), {"joulery.toml", 5}});
  settings.set("metersx", {true, {"joulery.toml", 9}});
  return settings;
}

TEST(Settings, ALaterLayerReplacesAnEarlierOneAndKeepsItsOrigin) {
  Settings settings = some();
  settings.set("carbon.place", {std::string("DE"), {"--place", 0}});
  EXPECT_EQ(settings.text("carbon.place")->value(), "DE");
  EXPECT_EQ(settings.find("carbon.place")->origin.describe(), "--place");
  EXPECT_EQ(settings.find("carbon.pue")->origin.describe(), "/etc/joulery/joulery.toml:3");
}

TEST(Settings, NamesBelowAPrefixAreWholeParts) {
  EXPECT_THAT(some().names_below("meters"), ElementsAre("bmc", "rack"));
  EXPECT_THAT(some().names_below("nothing"), ElementsAre());
}

TEST(Settings, AnAbsentKeyIsNothingAndAWrongTypeAnErrorWithItsPlace) {
  const Settings settings = some();
  EXPECT_FALSE(settings.text("carbon.source")->has_value());
  EXPECT_FALSE(settings.duration("carbon.source")->has_value());
  EXPECT_EQ(settings.number("carbon.pue")->value(), 2.0);
  EXPECT_EQ(settings.duration("meters.rack.timeout")->value(), seconds(5));
  const auto wrong = settings.duration("carbon.pue");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().where, "/etc/joulery/joulery.toml:3");
  EXPECT_FALSE(settings.whole("carbon.pue", 3, 4));
  EXPECT_FALSE(settings.flag("carbon.pue"));
  EXPECT_THAT(settings.texts("carbon.place")->value(), ElementsAre("FR"));
}

}  // namespace
}  // namespace joulery
