#include "sense/redfish/redfish.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "sense/redfish/redfish_source.h"
#include "web_server.h"

namespace joulery {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::string shared_trees = JOULERY_SOURCE_DIR "/../shared/data/redfish";

std::string file_text(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

using Pages = std::map<std::string, std::string>;

// The DMTF's own model of a rack server, each page under its path.
Pages rack_server() {
  Pages pages;
  const std::string root = shared_trees + "/dmtf-public-rackmount1/public-rackmount1";
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
    if (entry.path().filename() != "index.json") continue;
    const std::string below = std::filesystem::relative(entry.path().parent_path(), root).string();
    pages["/redfish/v1" + (below == "." ? "" : "/" + below)] = file_text(entry.path());
  }
  return pages;
}

// A chassis of the captured pages of one vendor.
Pages vendor(const std::string& chassis_page, const Pages& more) {
  Pages pages{{"/redfish/v1", R"({"Chassis":{"@odata.id":"/redfish/v1/Chassis"}})"},
              {"/redfish/v1/Chassis", R"({"Members":[{"@odata.id":"/redfish/v1/Chassis/1"}]})"},
              {"/redfish/v1/Chassis/1", chassis_page}};
  pages.insert(more.begin(), more.end());
  return pages;
}

WebServer::Answering tree(Pages pages) {
  return [pages = std::move(pages)](const WebRequest& request) {
    std::string path = request.path;
    if (path.ends_with('/')) path.pop_back();
    const auto page = pages.find(path);
    return page == pages.end() ? WebServer::answer(404, "{}") : WebServer::answer(200, page->second);
  };
}

RedfishSource source(const WebServer& server, HttpAccess access = {}, const std::string& chassis = "", bool by_session = true) {
  RemoteSettings remote;
  remote.component = Component("node");
  auto client = HttpClient::make(std::move(access));
  return RedfishSource(RedfishSession(*std::move(client), server.url(), by_session), remote, chassis);
}

// Milliwatts, or what went wrong.
std::string power_of(RedfishSource& redfish) {
  const auto answer = redfish.ask(seconds(20));
  if (!answer) return answer.error().what;
  return answer->values.at(0) ? std::to_string(*answer->values[0]) : "missing";
}

class RedfishTree : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(shared_trees)) GTEST_SKIP() << "skipped: no ../shared";
  }
};

// 374 W stand in EnvironmentMetrics and in the sensor TotalPower, 344 W in the older Power page.
TEST_F(RedfishTree, EachWayToThePowerOfARackServerIsFound) {
  Pages pages = rack_server();
  {
    const WebServer server(tree(pages));
    RedfishSource redfish = source(server);
    EXPECT_EQ(power_of(redfish), "374000");
    const std::size_t learnt = server.requests().size();
    EXPECT_EQ(power_of(redfish), "374000");
    EXPECT_EQ(server.requests().size(), learnt + 1);  // one page a round from then on
  }
  pages.erase("/redfish/v1/Chassis/1U/EnvironmentMetrics");
  {
    const WebServer server(tree(pages));
    RedfishSource redfish = source(server);
    EXPECT_EQ(power_of(redfish), "344000");
  }
  pages.erase("/redfish/v1/Chassis/1U/Power");
  {
    const WebServer server(tree(pages));
    RedfishSource redfish = source(server);
    EXPECT_EQ(power_of(redfish), "374000");
    EXPECT_EQ(server.requests().back().path, "/redfish/v1/Chassis/1U/Sensors/TotalPower");
  }
  pages.erase("/redfish/v1/Chassis/1U/Sensors");
  const WebServer server(tree(pages));
  RedfishSource redfish = source(server);
  EXPECT_EQ(power_of(redfish), "937400");  // the one supply with metrics of its own
}

TEST_F(RedfishTree, TheChassisMayBeChosen) {
  const WebServer server(tree(rack_server()));
  RedfishSource other = source(server, {}, "2U");
  EXPECT_THAT(power_of(other), HasSubstr("no chassis '2U'"));
  RedfishSource same = source(server, {}, "1U");
  EXPECT_EQ(power_of(same), "374000");
}

// Dell: 429 W, above its limit of 348 W, and 0 W available. HPE: no limit at all.
TEST_F(RedfishTree, DellAndHpePowerPages) {
  const Pages dell = vendor(R"({"Id":"1","Power":{"@odata.id":"/redfish/v1/Chassis/1/Power"}})",
                            {{"/redfish/v1/Chassis/1/Power", file_text(shared_trees + "/telegraf-dell/dell_power.json")}});
  const WebServer dell_server(tree(dell));
  RedfishSource dell_redfish = source(dell_server);
  EXPECT_EQ(power_of(dell_redfish), "429000");
  EXPECT_EQ(read_power(file_text(shared_trees + "/telegraf-hp/hp_power.json")).watts, 221);
}

TEST_F(RedfishTree, HpePowerSubsystem) {
  const std::string folder = shared_trees + "/telegraf-hp/power_subsys/hp_power_subsys", base = "/redfish/v1/Chassis/1/PowerSubsystem";
  const std::string supply = file_text(folder + "_psu_1.json");
  const WebServer server(tree(vendor(file_text(shared_trees + "/telegraf-hp/hp_chassis_subsys.json"),
                                     {{base, file_text(folder + ".json")},
                                      {base + "/PowerSupplies", file_text(folder + "_psu.json")},
                                      {base + "/PowerSupplies/PowerSupply1", supply},
                                      {read_redfish_link(supply, "Metrics"), file_text(folder + "_metrics.json")}})));
  RedfishSource redfish = source(server);
  EXPECT_EQ(power_of(redfish), "937400");
}

// A service with sessions: what it is given, it wants to see again.
class SessionService {
 public:
  std::string operator()(const WebRequest& request) {
    if (request.path == "/redfish/v1/")
      return WebServer::answer(200, R"({"Chassis":{"@odata.id":"/c"},"Links":{"Sessions":{"@odata.id":"/s"}}})");
    if (request.method == "POST") {
      if (request.body != R"({"UserName":"reader","Password":"hun\"ter2"})") return WebServer::answer(401, "");
      ++logins;
      return WebServer::answer(
          201, "{}", "X-Auth-Token: t" + std::to_string(logins) + "\r\nLocation: https://bmc.lan/s/" + std::to_string(logins) + "\r\n");
    }
    if (forgets || !request.has("X-Auth-Token: t" + std::to_string(logins))) {
      forgets = false;
      return WebServer::answer(401, "");
    }
    if (request.method == "DELETE") return closed = request.path, WebServer::answer(204, "");
    if (request.path == "/c") return WebServer::answer(200, R"({"Members":[{"@odata.id":"/c/1"}]})");
    if (request.path == "/c/1") return WebServer::answer(200, R"({"Id":"1","EnvironmentMetrics":{"@odata.id":"/c/1/e"}})");
    return WebServer::answer(200, R"({"PowerWatts":{"Reading":250.5},"EnergyJoules":{"Reading":12345.678}})");
  }
  int logins = 0;
  bool forgets = false;
  std::string closed;
};

HttpAccess reader(const char* password) {
  HttpAccess access;
  access.user = "reader";
  access.password.emplace(password);
  return access;
}

TEST(RedfishSession, LogsInOnceAgainWhenForgottenAndOutAtTheEnd) {
  SessionService service;
  const WebServer server([&](const WebRequest& request) { return service(request); });
  {
    RedfishSource redfish = source(server, reader("hun\"ter2"));
    EXPECT_EQ(power_of(redfish), "250500");
    ASSERT_EQ(redfish.channels().size(), 2u);
    EXPECT_EQ(redfish.channels()[1].behaviour, Behaviour::counter);
    EXPECT_EQ(*redfish.ask(seconds(5))->values[1], 12345678);
    EXPECT_EQ(service.logins, 1);
    service.forgets = true;
    EXPECT_EQ(power_of(redfish), "250500");
    EXPECT_EQ(service.logins, 2);
  }
  EXPECT_EQ(service.closed, "/s/2");
  for (const WebRequest& request : server.requests()) EXPECT_FALSE(request.has("Authorization"));
}

TEST(RedfishSession, AWrongPasswordIsRefused) {
  SessionService service;
  const WebServer server([&](const WebRequest& request) { return service(request); });
  RedfishSource redfish = source(server, reader("wrong"));
  EXPECT_EQ(redfish.ask(seconds(5)).error().reason, MissingReason::permission);
  EXPECT_EQ(service.logins, 0);
}

TEST(RedfishSession, WithoutSessionsThePasswordGoesWithEveryRequest) {
  const auto pages = [](const WebRequest& request) {
    if (request.path == "/redfish/v1/")
      return WebServer::answer(200, R"({"Chassis":{"@odata.id":"/c"},"Links":{"Sessions":{"@odata.id":"/s"}}})");
    if (request.method == "POST") return WebServer::answer(405, "");
    if (!request.has("Authorization: Basic ")) return WebServer::answer(401, "");
    if (request.path == "/c") return WebServer::answer(200, R"({"Members":[{"@odata.id":"/c/1"}]})");
    if (request.path == "/c/1") return WebServer::answer(200, R"({"Id":"1","Power":{"@odata.id":"/p#x"}})");
    return WebServer::answer(200, R"({"PowerControl":[{"PowerConsumedWatts":99}]})");
  };
  const WebServer server(pages);
  RedfishSource fallen_back = source(server, reader("x"));
  EXPECT_EQ(power_of(fallen_back), "99000");
  RedfishSource asked_for = source(server, reader("x"), "", false);
  EXPECT_EQ(power_of(asked_for), "99000");
}

TEST(Redfish, ASlowServiceIsLearntOverSeveralExchanges) {
  const WebServer server([service = SessionService()](const WebRequest& request) mutable {
    std::this_thread::sleep_for(std::chrono::milliseconds(120));
    return service(request);
  });
  RedfishSource redfish = source(server, reader("hun\"ter2"));
  std::string told;
  int exchanges = 0;
  for (; exchanges < 40 && told != "250500"; ++exchanges) {
    const auto answer = redfish.ask(milliseconds(400));
    told = answer ? std::to_string(*answer->values[0]) : answer.error().what;
  }
  EXPECT_EQ(told, "250500");
  EXPECT_GT(exchanges, 1);  // six pages do not fit into one
}

TEST(RedfishAnswers, LinksLeadNowhereElse) {
  for (const char* link : {"https://elsewhere/", "//elsewhere/x", "x", "/a/../b", "/a b", ""})
    EXPECT_EQ(read_redfish_link(std::string(R"({"Metrics":{"@odata.id":")") + link + "\"}}", "Metrics"), "") << link;
  EXPECT_EQ(read_redfish_link(R"({"Metrics":{"@odata.id":"/a#/b"}})", "Metrics"), "/a");
  EXPECT_THAT(read_redfish_members(R"({"Members":[{"@odata.id":"/a"},{},3,{"@odata.id":5},{"@odata.id":"/b"}]})"), ElementsAre("/a", "/b"));
}

// Lenovo lists the CPUs and the memory beside the server; 0 W is what a sensor says that is not ready.
TEST(RedfishAnswers, SubsystemsAndZerosAreNotTheServersPower) {
  EXPECT_EQ(read_power(R"({"PowerControl":[{"Name":"CPU Sub-system Power","PowerConsumedWatts":80},{"Name":"Server Power Control",
                           "PowerConsumedWatts":210},{"Name":"Memory Sub-system Power","PowerConsumedWatts":20}]})")
                .watts,
            210);
  EXPECT_FALSE(read_power(R"({"PowerControl":[{"PowerConsumedWatts":0}]})").watts);
  EXPECT_FALSE(read_power(R"({"PowerControl":[{"PowerConsumedWatts":null}]})").watts);
  EXPECT_FALSE(read_power(R"({"PowerControl":[{"PowerConsumedWatts":90,"Status":{"State":"Absent"}}]})").watts);
  EXPECT_FALSE(read_power(R"({"PowerControl":{"PowerConsumedWatts":90}})").watts);
  EXPECT_FALSE(read_environment_metrics(R"({"PowerWatts":{"Reading":2e6}})").watts);
  EXPECT_FALSE(read_environment_metrics(R"({"PowerWatts":{"Reading":100},"EnergykWh":{"Reading":325675}})").joules);
}

TEST(RedfishAnswers, OnlyASensorOfTheWholeChassisCounts) {
  EXPECT_EQ(read_sensor(R"({"ReadingType":"Power","PhysicalContext":"Chassis","Reading":300,"ReadingUnits":"W"})").watts, 300);
  EXPECT_FALSE(read_sensor(R"({"ReadingType":"Power","PhysicalContext":"CPU","Reading":300,"ReadingUnits":"W"})").watts);
  EXPECT_FALSE(read_sensor(R"({"ReadingType":"EnergykWh","PhysicalContext":"Chassis","Reading":300})").watts);
}

// The value of a report is a text; its age comes from the device's own clocks.
TEST(RedfishAnswers, AMetricReport) {
  constexpr std::string_view report =
      R"({"Timestamp":"2026-03-01T12:00:00+01:00","MetricValues":[
          {"MetricId":"CPUPower","MetricValue":"80","Timestamp":"2026-03-01T12:00:00+01:00"},
          {"MetricProperty":"/redfish/v1/Chassis/1/Power#/PowerControl/0/PowerConsumedWatts","MetricValue":"219.5","Timestamp":"2026-03-01T11:59:50+01:00"}]})";
  const RedfishReading reading = read_metric_report(report, "Sun, 01 Mar 2026 11:00:05 GMT");
  EXPECT_EQ(reading.watts, 219.5);
  EXPECT_EQ(reading.age_s, 15);
  EXPECT_FALSE(read_metric_report(report, "").age_s);
  EXPECT_FALSE(read_metric_report(R"({"MetricValues":[{"MetricId":"CPUPower","MetricValue":"80"}]})", "").watts);
  EXPECT_EQ(read_metric_report(R"({"MetricValues":[{"MetricId":"SystemInputPower","MetricValue":"77"}]})", "").watts, 77);
}

TEST(RedfishAnswers, TimesAreSecondsSince1970) {
  EXPECT_EQ(parse_iso_time("1970-01-02T00:00:00Z"), 86400);
  EXPECT_EQ(parse_iso_time("2019-08-13T04:14:33.25+06:00"), 1565648073);
  EXPECT_EQ(parse_http_date("Tue, 13 Aug 2019 22:14:33 GMT"), 1565734473);
  for (const char* text : {"", "2019-13-01T00:00:00Z", "2019-08-13 04:14:33", "2019-08-13T04:14:33+6", "2019-08-13T24:00:00Z"})
    EXPECT_FALSE(parse_iso_time(text)) << text;
  for (const char* text : {"", "13 Aug 2019", "Tue, 13 Avg 2019 22:14:33 GMT", "Tue, 13 Aug 2019 22:14:33 CET"})
    EXPECT_FALSE(parse_http_date(text)) << text;
}

TEST(Redfish, APasswordIsNotSentInTheClear) {
  Settings settings;
  const Origin origin{"c.toml", 1};
  settings.set("meters.bmc.kind", {std::string("redfish"), origin});
  settings.set("meters.bmc.url", {std::string("http://127.0.0.1:1"), origin});
  settings.set("meters.bmc.user", {std::string("reader"), origin});
  settings.set("meters.bmc.password_env", {std::string("PATH"), origin});
  const Discovery found = probe_redfish(Machine(), settings);
  EXPECT_THAT(found.findings.at(0).reason, HasSubstr("in the clear"));
  EXPECT_TRUE(found.devices.empty());
  EXPECT_FALSE(probe_redfish(Machine(), Settings()).findings.at(0).found);
}

}  // namespace
}  // namespace joulery
