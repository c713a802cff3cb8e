#include "watch/energy_teller.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "watch/energy_page.h"

namespace joulery {
namespace {

bool put(int file, const void* bytes, std::size_t size, std::size_t at) {
  return ::pwrite(file, bytes, size, static_cast<off_t>(at)) == static_cast<ssize_t>(size);
}

}  // namespace

Result<EnergyTeller> EnergyTeller::make(const std::string& directory) {
  const std::string path = directory + "/" + energy_page_name;
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0) return std::unexpected(error_from_errno(errno, "cannot make the page that tells a program its energy", path));
  EnergyTeller page(file);
  joulery_energy nothing{};
  nothing.watts = -1;
  nothing.quality = 4;
  page.publish(nothing);
  if (!put(file, &energy_page_layout, sizeof energy_page_layout, 8) || !put(file, &energy_page_magic, sizeof energy_page_magic, 0))
    return std::unexpected(error_from_errno(errno, "cannot write the page that tells a program its energy", path));
  return page;
}

EnergyTeller::EnergyTeller(EnergyTeller&& other) noexcept : file_(std::exchange(other.file_, -1)), sequence_(other.sequence_) {}

EnergyTeller::~EnergyTeller() {
  if (file_ >= 0) ::close(file_);
}

bool EnergyTeller::wanted() const {
  std::uint64_t word = 0;
  return ::pread(file_, &word, sizeof word, energy_wanted_at) == sizeof word && word != 0;
}

void EnergyTeller::publish(const joulery_energy& figures) {
  const std::uint64_t odd = sequence_ + 1, even = sequence_ += 2;
  (void)(put(file_, &odd, sizeof odd, energy_sequence_at) && put(file_, &figures, sizeof figures, energy_figures_at) &&
         put(file_, &even, sizeof even, energy_sequence_at));
}

}  // namespace joulery
