#include "publish/remote_write.h"

#include <algorithm>

#include "publish/protobuf_writer.h"
#include "publish/utf8.h"

namespace joulery {
namespace {

constexpr std::uint32_t timeseries = 1;
constexpr std::uint32_t series_labels = 1, series_samples = 2;
constexpr std::uint32_t label_name = 1, label_value = 2;
constexpr std::uint32_t sample_value = 1, sample_timestamp = 2;

void write_series(ProtobufWriter& out, const std::map<std::string_view, std::string_view>& labels, double value, std::int64_t at_ms) {
  out.message(timeseries, [&] {
    for (const auto& [name, text] : labels) {
      if (text.empty()) continue;  // the same as no label
      out.message(series_labels, [&] {
        out.text(label_name, name);
        out.text(label_value, valid_utf8(text));
      });
    }
    out.message(series_samples, [&] {
      out.real(sample_value, value);
      out.varint(sample_timestamp, static_cast<std::uint64_t>(at_ms));
    });
  });
}

}  // namespace

bool is_label_name(std::string_view name) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  const auto good = [&](char c) { return letter(c) || (c >= '0' && c <= '9'); };
  return !name.empty() && letter(name.front()) && !name.starts_with("__") && std::ranges::all_of(name, good);
}

RemoteWriteBytes remote_write_request(std::span<const MetricFamily> families, const ExternalLabels& external, WallTime now) {
  ProtobufWriter out;
  RemoteWriteBytes request;
  std::map<std::string_view, std::string_view> labels;
  for (const MetricFamily& family : families) {
    for (const MetricSample& sample : family.samples) {
      labels.clear();
      labels.emplace("__name__", family.name);
      for (const auto& [name, value] : sample.labels) labels.emplace(name, value);
      for (const auto& [name, value] : external) labels.emplace(name, value);  // does nothing where the name is taken
      write_series(out, labels, sample.value.as_double(), now.ns / 1'000'000);
      ++request.samples;
    }
  }
  request.bytes = out.take();
  return request;
}

}  // namespace joulery
