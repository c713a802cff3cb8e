// A job's ledger: the rows of its hosts' own ledgers, each below its host and on the job's clock.
#include <algorithm>
#include <map>

#include "ledger/ledger.h"

namespace joulery {

Ledger::Ledger(Interval run, std::span<const HostLedger> hosts) : run_(run) {
  bool all_at_wall = !hosts.empty();
  for (const HostLedger& host : hosts) {
    std::map<const Track*, const Track*> placed;
    const auto place = [&](const Track*& track) {
      if (!track) return;
      const auto [at, is_new] = placed.try_emplace(track, nullptr);
      if (is_new) at->second = estimates_.emplace_back(std::make_unique<Track>(track->on_job(host.run, host.clock))).get();
      track = at->second;
    };
    all_at_wall = all_at_wall && host.ledger->boundary() == Boundary::wall;
    for (Row row : host.ledger->rows()) {
      row.component = row.component.of_host(host.name);
      place(row.track);
      for (const Track*& feed : row.plus) place(feed);
      for (const Track*& part : row.minus) place(part);
      rows_.push_back(std::move(row));
    }
  }
  boundary_ = all_at_wall ? Boundary::wall : Boundary::node;
  std::ranges::stable_sort(rows_, {}, [](const Row& row) { return row.overlap; });
}

Energy Ledger::counted_of_host(const std::string& host, Interval when) const {
  Energy sum;
  for (const Row& row : rows_)
    if (!row.overlap && row.track && row.component.host() == host) sum += risen(row, when);
  return sum;
}

}  // namespace joulery
