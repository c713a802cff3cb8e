#include "sense/nvidia/nvml_processes.h"

#include <algorithm>
#include <string>

namespace joulery {
namespace {

constexpr std::size_t usual = 64, most = 4096;
constexpr unsigned no_instance = ~0U;
constexpr unsigned long long unknown_memory = ~0ULL;

// Calls a function that fills a buffer of unknown need, which grows until it does. Empty where it fails.
template <class Element, class Fill>
NvmlReturn fill(std::vector<Element>& buffer, Fill function) {
  for (std::size_t size = std::max(usual, buffer.capacity()); size <= most; size *= 2) {
    buffer.resize(size);
    auto count = static_cast<unsigned>(size);
    const NvmlReturn code = function(&count, buffer.data());
    if (code == NvmlReturn::insufficient_size) continue;
    buffer.resize(code == NvmlReturn::success ? std::min<std::size_t>(count, size) : 0);
    return code;
  }
  buffer.clear();
  return NvmlReturn::insufficient_size;
}

std::optional<double> share(unsigned per_cent) {
  if (per_cent > 100) return std::nullopt;  // seen in the wild; not a number that means anything
  return per_cent * 1e-2;
}

}  // namespace

void NvmlProcesses::read_users(const NvmlApi& api, NvmlApi::Device device, const Component& component, std::vector<DeviceProcess>& into) {
  const std::size_t first = into.size();
  for (auto* const list : {api.compute_processes, api.graphics_processes}) {
    fill(users_, [&](unsigned* count, NvmlProcess* to) { return call(list, device, count, to); });
    for (const NvmlProcess& user : users_) {
      DeviceProcess process;
      process.pid = user.pid;
      process.component =
          user.gpu_instance == no_instance ? component : Component(component.path() + "/mig-" + std::to_string(user.gpu_instance));
      if (user.memory != unknown_memory) process.memory = static_cast<std::int64_t>(user.memory);
      const bool known = std::any_of(into.begin() + static_cast<std::ptrdiff_t>(first), into.end(), [&](const DeviceProcess& other) {
        return other.pid == process.pid && other.component == process.component;
      });
      if (!known) into.push_back(std::move(process));
    }
  }
}

// Asked with time 0 the library answers with averages over a long past: that first answer only tells its clock.
bool NvmlProcesses::read_use(const NvmlApi& api, NvmlApi::Device device) {
  const NvmlReturn code =
      fill(use_, [&](unsigned* count, NvmlProcessUse* to) { return call(api.process_use, device, to, count, last_seen_us_); });
  if (code != NvmlReturn::success && code != NvmlReturn::not_found) return false;
  for (const NvmlProcessUse& use : use_) last_seen_us_ = std::max(last_seen_us_, use.time_us);
  if (begun_) return true;
  begun_ = true;
  return false;
}

void NvmlProcesses::read(const NvmlApi& api, NvmlApi::Device device, const Component& component, bool partitioned,
                         std::vector<DeviceProcess>& into) {
  const std::size_t first = into.size();
  read_users(api, device, component, into);
  if (partitioned || !read_use(api, device)) return;
  for (std::size_t i = first; i < into.size(); ++i) {
    DeviceProcess& process = into[i];
    const auto use = std::ranges::find(use_, static_cast<unsigned>(process.pid), &NvmlProcessUse::pid);
    const bool idle = use == use_.end();  // only who was busy has a sample
    process.busy = idle ? 0.0 : share(use->sm);
    process.memory_busy = idle ? 0.0 : share(use->memory);
    process.encoder = idle ? 0.0 : share(use->encoder);
    process.decoder = idle ? 0.0 : share(use->decoder);
  }
}

}  // namespace joulery
