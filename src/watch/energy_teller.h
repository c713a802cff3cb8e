// Writes the page of watch/energy_page.h: what `joulery run` tells the program of its energy.
#pragma once

#include <cstdint>
#include <string>

#include "core/result.h"
#include "joulery/joulery.h"

namespace joulery {

class EnergyTeller {
 public:
  // Makes the page in `directory`, with figures of which nothing is known yet.
  static Result<EnergyTeller> make(const std::string& directory);
  EnergyTeller(EnergyTeller&& other) noexcept;
  EnergyTeller& operator=(EnergyTeller&&) = delete;
  ~EnergyTeller();

  // Whether a program has read it, or tried to.
  bool wanted() const;
  // Who cannot write there any more says nothing: the program has the file, and may do with it what it likes.
  void publish(const joulery_energy& figures);

 private:
  explicit EnergyTeller(int file) : file_(file) {}
  int file_;
  std::uint64_t sequence_ = 0;
};

}  // namespace joulery
