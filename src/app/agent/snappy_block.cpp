#include "app/agent/snappy_block.h"

#include <snappy.h>

namespace joulery {

std::string snappy_block(std::string_view bytes) {
  std::string block;
  snappy::Compress(bytes.data(), bytes.size(), &block);
  return block;
}

}  // namespace joulery
