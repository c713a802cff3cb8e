// What a model server has done since an agent began to watch it, and what the node burnt meanwhile. A value.
//
// Invariant: `node` and the counts are of the same time: windows whose counts or energy are not known are in neither.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "core/quantity.h"
#include "core/time.h"

namespace joulery {

struct ServedModel {
  std::optional<double> tokens_in, tokens_out, requests;  // so far; empty where the server does not tell
};

struct ServerAccount {
  std::string name;                          // of its section
  std::string title;                         // "vLLM"; "" while it is not known
  std::string reason;                        // why nothing is known just now; "" where it is
  std::map<std::string, ServedModel> models; // by name; "(other)": those beyond the first so many
  Energy node;                               // of the node while it was known what the server did
  Duration watched;                          // how long that was
  Duration lost;                             // how long it was not: no answer, or a restart
  // Over the last minute or so.
  std::optional<double> joules_per_output_token, joules_per_token, joules_per_request;
};

inline constexpr std::size_t most_served_models = 20;  // of one server; the others stand together

}  // namespace joulery
