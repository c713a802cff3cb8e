// Why a device gives no answer, or none that can be used: a reason for the recording, a sentence and a remedy for the doctor.
#pragma once

#include <expected>
#include <string>

#include "sense/reading.h"

namespace joulery {

struct Trouble {
  MissingReason reason = MissingReason::io_error;
  std::string what;         // "no answer in 5 s", "completion code C1: invalid command"
  std::string remedy = {};  // what the user can do: "" where nothing is known
};

template <class T>
using Answer = std::expected<T, Trouble>;

}  // namespace joulery
