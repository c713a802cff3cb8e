#include "sense/nvidia/cuda_visible.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <tuple>

namespace joulery {
namespace {

constexpr const char* variable = "CUDA_VISIBLE_DEVICES";
constexpr int slices_of_many_gpus = 570;  // since this driver a process has a slice of every GPU instance; before, one in all

using Visible = std::vector<VisibleGpu>;

std::unexpected<Error> unclear(std::string what, std::string hint) {
  return fail(ErrorCode::usage, std::move(what), variable, std::move(hint));
}

std::vector<std::string_view> split(std::string_view list) {
  std::vector<std::string_view> parts;
  for (std::size_t at = 0; at <= list.size();) {
    const std::size_t end = std::min(list.find(',', at), list.size());
    parts.push_back(list.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

std::string_view without_spaces(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

enum class Form { index, gpu, slice };
Form form_of(std::string_view entry) {
  if (entry.starts_with("GPU-")) return Form::gpu;
  return entry.starts_with("MIG-") ? Form::slice : Form::index;
}

// The number that an entry begins with; nothing where it begins with none, or with a sign that makes it negative.
std::optional<std::size_t> index_of(std::string_view entry) {
  if (entry.starts_with('+')) entry.remove_prefix(1);
  std::size_t number = 0;
  const auto [end, failed] = std::from_chars(entry.data(), entry.data() + entry.size(), number);
  return failed == std::errc() && end != entry.data() ? std::optional(number) : std::nullopt;
}

class Resolver {
 public:
  Resolver(std::vector<CudaGpu> gpus, const CudaEnvironment& environment) : gpus_(std::move(gpus)), env_(environment) {
    std::ranges::sort(gpus_, {}, [](const CudaGpu& g) { return std::tuple(g.pci_domain, g.pci_bus, g.pci_device); });
  }

  Result<Visible> resolve() const {
    if (!env_.visible_devices) return everything();
    const std::string_view list = without_spaces(*env_.visible_devices);
    if (list.empty()) return Visible{};
    const std::vector<std::string_view> entries = split(list);
    const Form form = form_of(without_spaces(entries.front()));
    for (const std::string_view entry : entries) {
      const std::string_view word = without_spaces(entry);
      if (form_of(word) == Form::index && !index_of(word)) break;  // ends a list of any form
      if (form_of(word) != form)
        return unclear(fmt::format("'{}' mixes indices, UUIDs and MIG names, which drivers read differently", list), "name all by UUID");
    }
    if (form != Form::index && list.find_first_of(" \t") != std::string_view::npos)
      return unclear(fmt::format("'{}' has spaces between its UUIDs, which drivers read differently", list), "leave them out");
    switch (form) {
      case Form::index: return by_index(entries);
      case Form::gpu: return by_uuid(entries);
      default: return by_slice(entries);
    }
  }

 private:
  bool any_partitioned() const { return std::ranges::any_of(gpus_, &CudaGpu::partitioned); }
  bool all_alike() const {
    return std::ranges::all_of(gpus_, [&](const CudaGpu& g) { return g.name == gpus_.front().name; });
  }

  // The entries up to the first of another form; nothing where one is repeated, which leaves a program no GPU at all.
  static std::optional<std::vector<std::string_view>> named(const std::vector<std::string_view>& entries, std::string_view prefix) {
    std::vector<std::string_view> all;
    for (const std::string_view entry : entries) {
      if (std::ranges::find(all, entry) != all.end()) return std::nullopt;
      if (!entry.starts_with(prefix)) break;
      all.push_back(entry);
    }
    return all;
  }

  static std::unexpected<Error> no_slice(const CudaGpu& gpu) {
    return unclear(fmt::format("GPU {} is partitioned (MIG) and shows no slice that a program could use", gpu.number),
                   "nvidia-smi mig -lgi");
  }

  // Of a partitioned GPU by itself: its one slice, or one of them that is not known.
  static VisibleGpu whole(const CudaGpu& gpu) {
    VisibleGpu visible{gpu.number, {}, gpu.partitioned};
    if (gpu.partitioned && gpu.slices.size() == 1) visible.slice = 0;
    return visible;
  }

  Result<Visible> everything() const {
    if (!any_partitioned()) {
      Visible all;
      for (const CudaGpu& gpu : gpus_) all.push_back(whole(gpu));
      return all;
    }
    return limited(all_slices(), true);
  }

  // Every GPU instance's first compute instance, and every GPU that is not partitioned.
  Visible all_slices() const {
    Visible all;
    for (const CudaGpu& gpu : gpus_) {
      if (!gpu.partitioned) all.push_back(whole(gpu));
      std::vector<unsigned> seen;
      for (std::size_t i = 0; i < gpu.slices.size(); ++i) {
        if (std::ranges::find(seen, gpu.slices[i].gpu_instance) != seen.end()) continue;
        seen.push_back(gpu.slices[i].gpu_instance);
        all.push_back({gpu.number, i, true});
      }
    }
    return all;
  }

  // Before driver 570 a process had one slice in all, and beside it no GPU that is not partitioned. `any_order`: which slice is the
  // first is CUDA's choice.
  Result<Visible> limited(Visible all, bool any_order) const {
    const auto slices = std::ranges::count_if(all, &VisibleGpu::shared);
    if (all.size() <= 1 || slices == 0 || env_.driver >= slices_of_many_gpus) return all;
    if (env_.driver == 0)
      return unclear("how many MIG slices a program can have depends on the driver, whose version is not known",
                     "name one slice by its UUID");
    const auto first = *std::ranges::find_if(all, &VisibleGpu::shared);
    const bool one_board = std::ranges::all_of(all, [&](const VisibleGpu& v) { return !v.shared || v.gpu == first.gpu; });
    if (any_order && !one_board && !all_alike() && env_.device_order != "PCI_BUS_ID")
      return unclear("which slice CUDA takes first depends on its own order of unlike GPUs",
                     "CUDA_DEVICE_ORDER=PCI_BUS_ID, or name the slice");
    return Visible{first};
  }

  Result<Visible> by_index(const std::vector<std::string_view>& entries) const {
    std::vector<std::size_t> wanted;
    for (const std::string_view entry : entries) {
      const auto index = index_of(without_spaces(entry));
      if (!index) break;  // ends the list
      if (std::ranges::find(wanted, *index) != wanted.end()) return Visible{};
      wanted.push_back(*index);
    }
    // Repeated entries count before the first that is out of range ends the list: CUDA reads the text first.
    const auto out = std::ranges::find_if(wanted, [&](std::size_t index) { return index >= gpus_.size() && !any_partitioned(); });
    wanted.erase(out, wanted.end());
    if (wanted.empty()) return Visible{};
    if (env_.behind_mps) return unclear("behind a CUDA MPS daemon indices count the GPUs that the daemon was given", "name them by UUID");
    if (any_partitioned() && (gpus_.size() > 1 || wanted != std::vector<std::size_t>{0}))
      return unclear("beside a partitioned GPU (MIG) drivers count indices differently", "name GPUs and slices by UUID");
    if (env_.device_order != "PCI_BUS_ID" && !all_alike() && wanted.size() < gpus_.size())
      return unclear("indices count unlike GPUs from fastest to slowest, as only CUDA itself judges them",
                     "CUDA_DEVICE_ORDER=PCI_BUS_ID, or name them by UUID");
    Visible visible;
    for (const std::size_t index : wanted) {
      if (gpus_[index].partitioned && gpus_[index].slices.empty()) return no_slice(gpus_[index]);
      visible.push_back(whole(gpus_[index]));
    }
    return visible;
  }

  Result<Visible> by_uuid(const std::vector<std::string_view>& entries) const {
    const auto uuids = named(entries, "GPU-");
    if (!uuids) return Visible{};
    Visible visible;
    for (const std::string_view entry : *uuids) {
      if (std::ranges::any_of(entry.substr(4), [](char c) { return c >= 'A' && c <= 'F'; }))
        return unclear(fmt::format("'{}' is not written as the driver writes UUIDs, in small letters", entry), "nvidia-smi -L");
      const auto fits = [&](const CudaGpu& gpu) { return gpu.uuid.starts_with(entry); };
      if (std::ranges::count_if(gpus_, fits) != 1) break;  // none, or not unique: ends the list
      const CudaGpu& gpu = *std::ranges::find_if(gpus_, fits);
      if (gpu.partitioned && gpu.slices.empty()) return no_slice(gpu);
      const VisibleGpu found = whole(gpu);
      if (std::ranges::find(visible, found.gpu, &VisibleGpu::gpu) != visible.end()) return Visible{};  // the same by two prefixes
      visible.push_back(found);
    }
    return limited(std::move(visible), false);
  }

  // "MIG-UUID", or before driver 470 "MIG-GPU-UUID/GI/CI". Nothing: no such slice here.
  Result<std::optional<VisibleGpu>> slice_named(std::string_view entry) const {
    using Found = std::optional<VisibleGpu>;
    for (const CudaGpu& gpu : gpus_) {
      for (std::size_t i = 0; i < gpu.slices.size(); ++i)
        if (gpu.slices[i].uuid == entry) return Found{{gpu.number, i, true}};
      const std::string parent = "MIG-" + gpu.uuid + "/";
      if (!entry.starts_with(parent)) continue;
      const std::string_view rest = entry.substr(parent.size());
      const std::size_t slash = rest.find('/');
      const auto instance = index_of(rest.substr(0, slash));
      const auto part = slash == std::string_view::npos ? std::nullopt : index_of(rest.substr(slash + 1));
      if (!instance || !part) break;
      for (std::size_t i = 0; i < gpu.slices.size(); ++i)
        if (gpu.slices[i].gpu_instance == *instance && gpu.slices[i].compute_instance == *part) return Found{{gpu.number, i, true}};
      // A driver that cannot list its slices: the board is certain all the same.
      if (gpu.partitioned && gpu.slices.empty()) return Found{{gpu.number, {}, true}};
      return Found{};
    }
    if (entry.starts_with("MIG-GPU-") && entry.find('/') == std::string_view::npos)
      return unclear(fmt::format("'{}' names a GPU and no slice of it", entry),
                     "MIG-GPU-UUID/GI/CI, or the slice's own MIG-UUID: nvidia-smi -L");
    for (const CudaGpu& gpu : gpus_)
      for (const CudaSlice& slice : gpu.slices)
        if (slice.uuid.starts_with(entry))
          return unclear(fmt::format("'{}' is the beginning of a MIG name: only UUIDs of whole GPUs are known to be accepted so", entry),
                         "write it out");
    return Found{};
  }

  Result<Visible> by_slice(const std::vector<std::string_view>& entries) const {
    const auto names = named(entries, "MIG-");
    if (!names) return Visible{};
    Visible visible;
    for (const std::string_view entry : *names) {
      const auto found = slice_named(entry);
      if (!found) return std::unexpected(found.error());
      if (!*found) break;
      const bool same_instance =
          std::ranges::any_of(visible, [&](const VisibleGpu& other) { return instance_of(other) == instance_of(**found); });
      if (!same_instance) visible.push_back(**found);  // of several parts of one GPU instance CUDA takes one
    }
    return limited(std::move(visible), false);
  }

  std::tuple<std::size_t, unsigned> instance_of(const VisibleGpu& visible) const {
    const auto gpu = std::ranges::find(gpus_, visible.gpu, &CudaGpu::number);
    return {visible.gpu, visible.slice ? gpu->slices[*visible.slice].gpu_instance : ~0U};
  }

  std::vector<CudaGpu> gpus_;
  const CudaEnvironment& env_;
};

}  // namespace

Result<std::vector<VisibleGpu>> visible_gpus(std::vector<CudaGpu> gpus, const CudaEnvironment& environment) {
  return Resolver(std::move(gpus), environment).resolve();
}

}  // namespace joulery
