// Any bytes as a segment of a queue: walked to their end, never a crash, and each frame that is found is one that the writer
// makes of the same number and payload.
#include <cstdlib>

#include "record/queue/frame.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace joulery;
  FrameReader reader({data, size});
  std::size_t whole = 0;
  while (const auto frame = reader.next()) {
    const std::string again = encode_frame(frame->sequence, frame->payload);
    if (again != std::string(data + reader.position() - again.size(), data + reader.position())) std::abort();
    whole += again.size();
  }
  if (whole + reader.damaged_bytes() != size) std::abort();
  const std::string frame = encode_frame(size, {reinterpret_cast<const char*>(data), size});
  FrameReader back({reinterpret_cast<const std::uint8_t*>(frame.data()), frame.size()});
  const auto same = back.next();
  if (!same || same->sequence != size || same->payload.size() != size) std::abort();
  return 0;
}
