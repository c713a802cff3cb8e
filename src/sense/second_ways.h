// A second way to the same counters (perf beside powercap) costs time at each round and tells nothing: the device is left
// out, and its findings say so. Unless the two disagree, which is looked at once over a short while: then both are kept,
// so that the report names the disagreement, and the doctor says by how much.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sense/meter.h"

namespace joulery {

class SecondWays {
 public:
  // Takes `found` of one kind, in order of preference: what an earlier kind's fast devices cover already is put aside.
  void take(Discovery& found);
  // The same of devices that another program reads for us, rounded perhaps: what is measured without it, under the same kind and
  // name or otherwise, is left out with its findings, and never compared. A device of which this process can read a part only is
  // kept: the rest is in it.
  void take_second_hand(Discovery& found);
  // Compares what was put aside with what covers it: for 50 ms, where there is any. Devices that disagree go back to `all`,
  // whose findings tell of all of them.
  void settle(Discovery& all);

 private:
  struct Source {
    std::string kind;
    Meter* meter;
    std::size_t channel;
  };
  struct Counter {
    Source first, second;  // of one component
    Reading first_before, second_before;
  };
  struct Aside {
    Device device;
    std::string by;        // the kind that measures all that this device could
    std::vector<Counter> counters;
  };
  std::string covering(const Device& device) const;
  bool is_needless(const Device& second_hand) const;
  void learn(Device& device);
  std::vector<Counter> start(Device& device) const;

  std::map<Component, Source> known_;  // components that fast devices really gave a value for when asked once
  std::vector<Aside> aside_;
  std::map<std::pair<std::string, std::string>, std::set<Component>> taken_;  // by kind and name: what slow ones say they measure
};

}  // namespace joulery
