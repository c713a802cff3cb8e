// Finds where a Redfish service tells the power of a chassis, and reads it there from then on.
//
// Services differ: EnvironmentMetrics, the older Power page, a sensor, the sum over power supplies, a telemetry report; the
// first that tells something is taken, in this order. Finding it takes several pages, and services are slow: what one exchange
// has learnt, the next goes on from.
#pragma once

#include <string>
#include <vector>

#include "sense/redfish/redfish_answers.h"
#include "sense/redfish/redfish_session.h"
#include "sense/remote/remote_settings.h"

namespace joulery {

class RedfishSource final : public RemoteSource {
 public:
  // `chassis`: the Id to read, "" for the first that tells power.
  RedfishSource(RedfishSession session, RemoteSettings remote, std::string chassis);

  // Power in milliwatts; with it, where the service counts joules, an energy in millijoules.
  std::vector<Channel> channels() const override;
  Answer<RemoteAnswer> ask(Duration limit) override;

 private:
  enum class Way { environment, power, sensor, supplies, report };
  struct Place {
    Way way;
    std::vector<std::string> pages;  // one, but for the supplies
  };

  Answer<void> learn(MonoTime end);
  Answer<void> learn_chassis(MonoTime end);
  Answer<bool> try_chassis(const RedfishChassis& chassis, MonoTime end);
  Answer<bool> try_place(Place place, MonoTime end);
  Answer<bool> try_sensors(const std::string& collection, MonoTime end);
  Answer<bool> try_supplies(const std::string& subsystem, MonoTime end);
  Answer<bool> try_reports(MonoTime end);
  Answer<RedfishReading> read(const Place& place, MonoTime end);
  Answer<std::string> text_of(const std::string& path, MonoTime end);

  RedfishSession session_;
  RemoteSettings remote_;
  std::string wanted_chassis_;
  std::optional<RedfishRoot> root_;
  std::optional<std::vector<std::string>> chassis_paths_;
  std::vector<RedfishChassis> chassis_;  // of the paths seen so far
  std::size_t next_chassis_ = 0;         // the first that was not tried yet
  std::optional<Place> place_;
  bool counts_energy_ = false;
};

}  // namespace joulery
