#include "sense/meter.h"

namespace joulery {

std::vector<Reading> read_once(Meter& meter) {
  Sink sink(meter.channels().size());
  sink.start();
  meter.read(sink);
  sink.finish();
  return {sink.readings().begin(), sink.readings().end()};
}

}  // namespace joulery
