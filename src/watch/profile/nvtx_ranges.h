// What NVTX ranges mean: programs push and pop them on a thread, frameworks and users alike, and nothing but their names and their
// nesting tells steps, layers and operators apart.
//
//   step 7; iteration 7, iter 7, batch 7 where no range is called a step     a step
//   a name with "::" (PyTorch's emit_nvtx: "aten::mm, seq = 4, op_id = 9")    an operator, of that number of the autograd sequence
//   epoch 3, and iterations inside of steps                                  only a range
//   a path ("net/conv1", "model.layers.0.mlp"), "nn.Module: X", and a name
//   that has other ranges inside, anywhere in the trace                      a layer, below those around it
//   the rest                                                                 an operator
//
// Invariant: one name is one kind. Each operator gets an id of its own, by which seal() finds what it launched.
#pragma once

#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "watch/profile/profile_builder.h"

namespace joulery {

class NvtxRanges {
 public:
  // `builder` outlives the ranges.
  explicit NvtxRanges(ProfileBuilder& builder) : builder_(&builder) {}

  // A range of a host's thread. They come by begin, and of those that begin together the longest comes first.
  void add(std::uint32_t track, std::int64_t begin, std::int64_t duration, std::string_view text);
  // Once all are there: gives each its kind.
  void classify();

 private:
  struct Open {
    std::int64_t end;
    NameId name;
  };

  ProfileBuilder* builder_;
  std::unordered_map<std::uint32_t, std::vector<Open>> open_;   // of each track
  std::unordered_set<NameId> around_;                           // had a range inside
  bool steps_ = false;
  std::uint32_t operators_ = 0;
};

}  // namespace joulery
