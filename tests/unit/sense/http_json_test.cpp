#include "sense/room/http_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sense/remote/json_number.h"
#include "sense/remote/meter_unit.h"
#include "web_server.h"

namespace joulery {
namespace {

using ::testing::HasSubstr;

TEST(JsonNumber, FollowsAPointer) {
  constexpr std::string_view json = R"({"a":{"b~c":[1,{"d/e":2.5}]},"t":"7.25","n":null,"":3})";
  EXPECT_EQ(*number_at(json, "/a/b~0c/0"), 1);
  EXPECT_EQ(*number_at(json, "/a/b~0c/1/d~1e"), 2.5);
  EXPECT_EQ(*number_at(json, "/t"), 7.25);
  EXPECT_EQ(*number_at(json, "/"), 3);
  EXPECT_EQ(*number_at("42", ""), 42);
  EXPECT_EQ(*number_at("18446744073709551615", ""), 18446744073709551615.0);
}

TEST(JsonNumber, WhatIsNoNumberIsToldApartFromWhatIsNotThere) {
  constexpr std::string_view json = R"({"a":[1],"n":null,"t":"7 W","b":true})";
  for (const char* pointer : {"/x", "/a/1", "/a/00", "/a/-", "/n/x", "a", "/~2"})
    EXPECT_EQ(number_at(json, pointer).error().reason, MissingReason::not_supported) << pointer;
  for (const char* pointer : {"/n", "/t", "/b", "/a", ""})
    EXPECT_EQ(number_at(json, pointer).error().reason, MissingReason::rubbish) << pointer;
  for (const char* text : {"", "{", "nan", "[1", "\xff"}) EXPECT_EQ(number_at(text, "").error().reason, MissingReason::rubbish) << text;
  EXPECT_EQ(number_at("1e400", "").error().reason, MissingReason::rubbish);
}

TEST(MeterUnit, CountsAreStepsOfTheUnit) {
  const Scaling kwh{*parse_meter_unit("kWh"), 1, 1e-3};
  EXPECT_EQ(*kwh.counts(12.345), 12345);  // Wh
  EXPECT_DOUBLE_EQ(kwh.unit.si * kwh.step, 3600);
  const Scaling deciwatt{*parse_meter_unit("W"), 0.1, 1e-3};
  EXPECT_EQ(*deciwatt.counts(1234), 123400);  // mW
  EXPECT_FALSE(parse_meter_unit("VA"));
  EXPECT_FALSE(kwh.counts(1e300));
  EXPECT_FALSE(kwh.counts(std::numeric_limits<double>::quiet_NaN()));
}

Settings plug(const std::string& url, const std::string& pointer, const std::string& unit) {
  Settings settings;
  const Origin origin{"c.toml", 1};
  settings.set("meters.plug.kind", {std::string("http-json"), origin});
  settings.set("meters.plug.url", {url, origin});
  settings.set("meters.plug.pointer", {pointer, origin});
  settings.set("meters.plug.unit", {unit, origin});
  settings.set("meters.plug.timeout", {std::string("2s"), origin});
  return settings;
}

Reading first_reading(Device& device) { return read_once(*device.meter).front(); }

// The shapes are those of Tasmota's Status 8 and of Shelly's Switch.GetStatus.
constexpr std::string_view tasmota =
    R"({"StatusSNS":{"Time":"2026-03-01T12:00:00","ENERGY":{"Total":12.345,"Power":[231.5,4],"Voltage":230}}})";
constexpr std::string_view shelly =
    R"({"id":0,"output":true,"apower":187.4,"voltage":229.8,"aenergy":{"total":1523.678,"by_minute":[1,2,3]}})";

TEST(HttpJson, ReadsPowerAndEnergyOfAPlug) {
  const WebServer server([](const WebRequest& r) { return WebServer::answer(200, r.path.contains("rpc") ? shelly : tasmota); });
  const struct {
    const char *path, *pointer, *unit;
    std::int64_t raw;
    double si;
  } rows[] = {{"/cm?cmnd=Status%208", "/StatusSNS/ENERGY/Power/0", "W", 231500, 1e-3},
              {"/cm?cmnd=Status%208", "/StatusSNS/ENERGY/Total", "kWh", 12345, 3600},
              {"/rpc/Switch.GetStatus?id=0", "/apower", "W", 187400, 1e-3},
              {"/rpc/Switch.GetStatus?id=0", "/aenergy/total", "Wh", 1523678, 3.6}};
  for (const auto& row : rows) {
    Discovery found = probe_http_json(Machine(), plug(server.url(row.path), row.pointer, row.unit));
    ASSERT_EQ(found.devices.size(), 1u) << found.findings[0].reason;
    EXPECT_TRUE(found.findings[0].readable) << found.findings[0].reason;
    const Channel& channel = found.devices[0].meter->channels()[0];
    EXPECT_EQ(channel.component.path(), "wall");
    EXPECT_DOUBLE_EQ(channel.unit, row.si);
    EXPECT_EQ(channel.behaviour, row.si > 1 ? Behaviour::counter : Behaviour::gauge);
    EXPECT_EQ(first_reading(found.devices[0]).raw, row.raw) << row.pointer;
  }
}

TEST(HttpJson, ThePasswordStandsWhereTheUrlWantsIt) {
  const WebServer server([](const WebRequest&) { return WebServer::answer(200, "5"); });
  Settings settings = plug(server.url("/cm?user=admin&password={password}&cmnd=x"), "", "W");
  settings.set("meters.plug.user", {std::string("admin"), {"c.toml", 1}});
  settings.set("meters.plug.password_env", {std::string("JOULERY_TEST_SECRET"), {"c.toml", 1}});
  ::setenv("JOULERY_TEST_SECRET", "a&b", 1);
  const Discovery found = probe_http_json(Machine(), settings);
  ::unsetenv("JOULERY_TEST_SECRET");
  EXPECT_TRUE(found.findings[0].readable) << found.findings[0].reason;
  EXPECT_EQ(server.requests().at(0).path, "/cm?user=admin&password=%61%26%62&cmnd=x");
  EXPECT_FALSE(server.requests()[0].has("Authorization"));
}

TEST(HttpJson, FaultsAreTheReadingsOwn) {
  const WebServer server([](const WebRequest& r) {
    if (r.path == "/rubbish") return WebServer::answer(200, "\x01{]");
    if (r.path == "/login") return WebServer::answer(401, "");
    return WebServer::answer(200, "{}");
  });
  const std::pair<const char*, MissingReason> rows[] = {
      {"/rubbish", MissingReason::rubbish}, {"/login", MissingReason::permission}, {"/empty", MissingReason::not_supported}};
  for (const auto& [path, reason] : rows) {
    Discovery found = probe_http_json(Machine(), plug(server.url(path), "/apower", "W"));
    ASSERT_EQ(found.devices.size(), 1u);
    EXPECT_FALSE(found.findings[0].readable);
    EXPECT_EQ(first_reading(found.devices[0]).reason, reason) << path;
  }
}

TEST(HttpJson, ASectionThatMakesNoSenseIsAFinding) {
  EXPECT_THAT(probe_http_json(Machine(), plug("http://127.0.0.1:1/", "no", "W")).findings[0].reason, HasSubstr("no JSON pointer"));
  EXPECT_THAT(probe_http_json(Machine(), plug("http://127.0.0.1:1/", "/a", "VA")).findings[0].reason, HasSubstr("no such unit"));
  Settings settings = plug("http://127.0.0.1:1/", "/a", "W");
  settings.remove("meters.plug.url");
  EXPECT_THAT(probe_http_json(Machine(), settings).findings[0].remedy, HasSubstr("set meters.plug.url"));
  EXPECT_FALSE(probe_http_json(Machine(), Settings()).findings[0].found);
}

}  // namespace
}  // namespace joulery
