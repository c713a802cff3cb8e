// A wall model that people may copy and edit: whatever it holds, the answer is a model that grows with the parts and can be
// written and read back as it was, or an error that says so.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "factors/wall_model.h"

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace joulery;
  const auto model = parse_wall_model({reinterpret_cast<const char*>(data), size}, "fuzz");
  if (!model) {
    require(!model.error().what.empty() && !model.error().where.empty());
    return 0;
  }
  require(model->at(model->most) > model->at(model->least));
  require(!std::isnan(to_watts(model->half_interval(model->least))));
  const auto again = parse_wall_model(wall_model_text(*model), "again");
  require(again && again->kind == model->kind && again->coefficients == model->coefficients && again->source == model->source);
  return 0;
}
