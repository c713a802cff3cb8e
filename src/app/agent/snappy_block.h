// Snappy's block format, which remote write wants (not the framing format). The only file that needs libsnappy.
#pragma once

#include <string>
#include <string_view>

namespace joulery {

std::string snappy_block(std::string_view bytes);

}  // namespace joulery
