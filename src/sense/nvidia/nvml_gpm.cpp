#include "sense/nvidia/nvml_gpm.h"

#include <cmath>
#include <string>
#include <utility>

namespace joulery {
namespace {

constexpr Duration least_apart = milliseconds(100);

struct Metric {
  unsigned id;
  const char* name;
  Measurand measurand;
};
// Per cent 0..100, and MiB a second.
constexpr Metric metrics[] = {
    {1, "engine", Measurand::utilisation},    // any compute or graphics at work
    {2, "sm", Measurand::utilisation},        // SMs that were at work
    {3, "occupancy", Measurand::utilisation}, // warps at work of those that have room
    {5, "tensor", Measurand::utilisation},
    {10, "dram", Measurand::utilisation},     // memory bandwidth used of what there is
    {11, "fp64", Measurand::utilisation},
    {12, "fp32", Measurand::utilisation},
    {13, "fp16", Measurand::utilisation},
    {20, "pcie_sending", Measurand::bandwidth},
    {21, "pcie_receiving", Measurand::bandwidth},
    {60, "nvlink_receiving", Measurand::bandwidth},
    {61, "nvlink_sending", Measurand::bandwidth},
};
constexpr double steps = 1000;  // a metric is kept in thousandths of its unit
constexpr double mebibyte = 1048576;

Channel channel_of(const Metric& metric, std::optional<unsigned> slice, const Component& component) {
  const double unit = metric.measurand == Measurand::utilisation ? 1e-2 / steps : mebibyte / steps;
  std::string name = "gpm_" + std::string(metric.name);
  if (slice) name += "_mig_" + std::to_string(*slice);
  Channel channel = plain_channel(component, std::move(name), metric.measurand, Behaviour::gauge, unit);
  channel.update_period = channel.averaging_window = least_apart;
  return channel;
}

}  // namespace

NvmlGpm::NvmlGpm(const NvmlApi& api, NvmlApi::Device device, std::optional<unsigned> slice, const Component& component)
    : api_(&api), slice_(slice) {
  NvmlGpmSupport support{1, 0};
  if (call(api.gpm_support, device, &support) != NvmlReturn::success || support.supported == 0 || !api.gpm_metrics) return;
  if (call(api.gpm_alloc, &older_) != NvmlReturn::success || call(api.gpm_alloc, &newer_) != NvmlReturn::success) return;
  has_sample_ = sample(device, older_) == NvmlReturn::success;
  if (!has_sample_) return;
  sampled_ = mono_now();
  request_ = std::make_unique<NvmlGpmRequest>();
  for (const Metric& metric : metrics) {
    if (slice && metric.measurand == Measurand::bandwidth) continue;  // links belong to the whole GPU
    request_->metrics[channels_.size()].id = metric.id;
    channels_.push_back(channel_of(metric, slice, component));
  }
  codes_.assign(channels_.size(), NvmlReturn::not_ready);
  values_.assign(channels_.size(), 0);
}

NvmlGpm::NvmlGpm(NvmlGpm&& other) noexcept
    : api_(other.api_),
      slice_(other.slice_),
      older_(std::exchange(other.older_, nullptr)),
      newer_(std::exchange(other.newer_, nullptr)),
      sampled_(other.sampled_),
      has_sample_(other.has_sample_),
      request_(std::move(other.request_)),
      channels_(std::move(other.channels_)),
      codes_(std::move(other.codes_)),
      values_(std::move(other.values_)) {}

NvmlGpm::~NvmlGpm() {
  for (const NvmlApi::GpmSample one : {older_, newer_})
    if (one) call(api_->gpm_free, one);
}

NvmlReturn NvmlGpm::sample(NvmlApi::Device device, NvmlApi::GpmSample into) const {
  return slice_ ? call(api_->gpm_mig_sample, device, *slice_, into) : call(api_->gpm_sample, device, into);
}

void NvmlGpm::refresh(NvmlApi::Device device, MonoTime now) {
  const NvmlReturn code = sample(device, newer_);
  const bool comparable = has_sample_;
  has_sample_ = code == NvmlReturn::success;
  sampled_ = now;
  if (code != NvmlReturn::success) return codes_.assign(codes_.size(), code);
  request_->version = 1;
  request_->count = static_cast<unsigned>(channels_.size());
  request_->first = older_;
  request_->second = newer_;
  const NvmlReturn whole = comparable ? call(api_->gpm_metrics, request_.get()) : NvmlReturn::not_ready;
  for (std::size_t i = 0; i < channels_.size(); ++i) {
    const NvmlGpmMetric& metric = request_->metrics[i];
    codes_[i] = whole == NvmlReturn::success ? static_cast<NvmlReturn>(metric.code) : whole;
    const bool sane = std::isfinite(metric.value) && metric.value >= 0 && metric.value < 1e9;
    if (codes_[i] == NvmlReturn::success && !sane) codes_[i] = NvmlReturn::unknown;
    values_[i] = codes_[i] == NvmlReturn::success ? to_whole(metric.value * steps) : 0;
  }
  std::swap(older_, newer_);
}

void NvmlGpm::read(NvmlApi::Device device, MonoTime now, Sink& sink) {
  if (channels_.empty()) return;
  if (now - sampled_ > least_apart) refresh(device, now);
  for (std::size_t i = 0; i < channels_.size(); ++i) {
    if (codes_[i] == NvmlReturn::success)
      sink.value(values_[i]);
    else
      sink.missing(reason_of(codes_[i]));
  }
}

}  // namespace joulery
