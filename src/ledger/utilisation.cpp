#include "ledger/utilisation.h"

#include <algorithm>

namespace joulery {

std::vector<double> utilisation(std::span<const MonoTime> times, std::span<const double> busy, int threads) {
  std::vector<double> shares(times.size());
  double carried = 0;
  for (std::size_t i = 1; i < times.size(); ++i) {
    const double room = to_seconds(times[i] - times[i - 1]) * threads;
    const double seconds = std::max(0.0, busy[i] - busy[i - 1]) + carried;
    const double counted = std::min(seconds, room);
    carried = seconds - counted;
    shares[i] = room > 0 ? counted / room : 0;
  }
  return shares;
}

}  // namespace joulery
