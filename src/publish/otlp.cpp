#include "publish/otlp.h"

#include <array>
#include <bit>
#include <optional>
#include <utility>
#include <vector>

#include "publish/gone_series.h"
#include "publish/protobuf_writer.h"
#include "publish/utf8.h"

namespace joulery {
namespace {

using Labels = std::vector<std::pair<std::string, std::string>>;
using Attributes = std::vector<std::pair<std::string_view, std::string_view>>;

// Field numbers of opentelemetry-proto.
constexpr std::uint32_t resource_metrics = 1, of_resource = 1, scope_metrics = 2;
constexpr std::uint32_t resource_attributes = 1, scope = 1, scope_name = 1, scope_version = 2, metrics = 2;
constexpr std::uint32_t metric_name = 1, metric_description = 2, metric_unit = 3, metric_gauge = 5, metric_sum = 7;
constexpr std::uint32_t data_points = 1, sum_temporality = 2, sum_monotonic = 3, cumulative = 2;
constexpr std::uint32_t point_start = 2, point_time = 3, point_double = 4, point_int = 6, point_attributes = 7, point_flags = 8,
                        no_recorded_value = 1;
constexpr std::uint32_t key = 1, value = 2, string_value = 1;

void write_attributes(ProtobufWriter& out, std::uint32_t field, const Attributes& attributes) {
  for (const auto& [name, text] : attributes) {
    if (text.empty()) continue;
    out.message(field, [&] {
      out.text(key, name);
      out.message(value, [&] { out.text(string_value, valid_utf8(text)); });
    });
  }
}

struct Point {
  std::optional<MetricValue> value;  // nothing: there was one before, and now there is none
  Attributes attributes;
};

struct Head {
  std::string_view name, description, unit;
  MetricType type;
};

class Request {
 public:
  Request(ProtobufWriter& out, WallTime start, WallTime now) : out_(out), start_(start), now_(now) {}

  // Nothing where there are no points.
  void metric(const Head& head, const std::vector<Point>& points) {
    if (points.empty()) return;
    count_ += points.size();
    out_.message(metrics, [&] {
      out_.text(metric_name, head.name);
      out_.text(metric_description, head.description);
      out_.text(metric_unit, head.unit);
      const bool sum = head.type == MetricType::counter;
      out_.message(sum ? metric_sum : metric_gauge, [&] {
        for (const Point& point : points) out_.message(data_points, [&] { write(point, sum); });
        if (!sum) return;
        out_.varint(sum_temporality, cumulative);
        out_.varint(sum_monotonic, 1);
      });
    });
  }
  std::size_t count() const { return count_; }

 private:
  void write(const Point& point, bool with_start) {
    if (with_start) out_.fixed64(point_start, static_cast<std::uint64_t>(start_.ns));
    out_.fixed64(point_time, static_cast<std::uint64_t>(now_.ns));
    if (point.value && point.value->is_exact() && point.value->decimals() == 0)
      out_.fixed64(point_int, static_cast<std::uint64_t>(point.value->count()));
    else if (point.value)
      out_.real(point_double, point.value->as_double());
    write_attributes(out_, point_attributes, point.attributes);
    if (!point.value) out_.varint(point_flags, no_recorded_value);
  }

  ProtobufWriter& out_;
  WallTime start_, now_;
  std::size_t count_ = 0;
};

// What a component is called: hw.id and hw.type. Nothing where it has no type.
std::optional<Labels> hardware(const ComponentAccount& part, Quality quality) {
  const std::string_view type = hardware_type(part.component);
  if (type.empty()) return std::nullopt;
  return Labels{{"hw.id", part.component}, {"hw.type", std::string(type)}, {"joulery.quality", std::string(name_of(quality))}};
}

// The node's power is known where that of all its parts is: a sum without one of them would be another figure.
std::optional<Power> node_power(const NodeAccount& account) {
  Power sum;
  for (const ComponentAccount& part : account.components) {
    if (!part.power) return std::nullopt;
    sum += *part.power;
  }
  return account.components.empty() ? std::nullopt : std::optional(sum);
}

void add_parts(const NodeAccount& account, MetricFamily& energies, MetricFamily& powers) {
  for (const ComponentAccount& part : account.components) {
    for (const auto& [quality, energy] : part.energy)
      if (const auto names = hardware(part, quality); names && quality != Quality::missing)
        energies.samples.push_back({*names, MetricValue::of(energy)});
    if (const auto names = hardware(part, part.quality); names && part.power)
      powers.samples.push_back({*names, MetricValue::of(*part.power)});
  }
}

void add_host(const NodeAccount& account, const std::string& host, MetricFamily& energies, MetricFamily& powers) {
  std::map<Quality, Energy> sums;
  for (const ComponentAccount& part : account.components)
    for (const auto& [quality, energy] : part.energy)
      if (quality != Quality::missing) sums[quality] += energy;
  for (const auto& [quality, energy] : sums)
    energies.samples.push_back({{{"hw.id", host}, {"joulery.quality", std::string(name_of(quality))}}, MetricValue::of(energy)});
  if (const auto power = node_power(account)) powers.samples.push_back({{{"hw.id", host}}, MetricValue::of(*power)});
}

bool is_stale(const MetricValue& number) { return !number.is_exact() && std::bit_cast<std::uint64_t>(number.as_double()) == stale_marker; }

void write_family(Request& request, const MetricFamily& family) {
  std::vector<Point> points;
  for (const MetricSample& sample : family.samples)
    points.push_back(
        {is_stale(sample.value) ? std::nullopt : std::optional(sample.value), Attributes(sample.labels.begin(), sample.labels.end())});
  const std::string name = otlp_name(family);
  request.metric({name, family.help, otlp_unit(family.unit), family.type}, points);
}

}  // namespace

std::string_view hardware_type(std::string_view component) {
  if (!component.starts_with("node/")) return {};
  const std::string_view family = component.substr(5, component.find('/', 5) - 5);
  return family == "dram" ? "memory" : family;
}

std::string_view otlp_unit(std::string_view unit) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 5> units{
      {{"joules", "J"}, {"watts", "W"}, {"seconds", "s"}, {"bytes", "By"}, {"ratio", "1"}}};
  for (const auto& [ours, ucum] : units)
    if (unit == ours) return ucum;
  return "";
}

std::string otlp_name(const MetricFamily& family) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 4> quantities{
      {{"joules", ".energy"}, {"watts", ".power"}, {"seconds", ".time"}, {"bytes", ".size"}}};
  std::string name = family.name;
  if (name.ends_with("_total")) name.resize(name.size() - 6);
  if (name.starts_with("joulery_")) name[7] = '.';
  if (family.unit.empty() || !name.ends_with("_" + family.unit)) return name;
  name.resize(name.size() - family.unit.size() - 1);
  for (const auto& [unit, quantity] : quantities)
    if (family.unit == unit) name += quantity;
  return name;
}

std::vector<MetricFamily> hardware_families(const NodeAccount& account, const std::string& host) {
  constexpr auto counter = MetricType::counter;
  constexpr auto gauge = MetricType::gauge;
  std::vector<MetricFamily> all{{"hw.energy", counter, "joules", "Energy consumed by the component", {}},
                                {"hw.power", gauge, "watts", "Instantaneous power consumed by the component", {}},
                                {"hw.host.energy", counter, "joules", "Total energy consumed by the entire physical host", {}},
                                {"hw.host.power", gauge, "watts", "Instantaneous power consumed by the entire physical host", {}}};
  add_parts(account, all[0], all[1]);
  add_host(account, host, all[2], all[3]);
  return all;
}

OtlpBytes otlp_request(std::span<const MetricFamily> families, const OtlpResource& resource, WallTime start, WallTime now) {
  ProtobufWriter out;
  Request request(out, start, now);
  out.message(resource_metrics, [&] {
    out.message(of_resource, [&] {
      Attributes attributes{{"service.name", "joulery"},
                            {"service.version", resource.version},
                            {"host.name", resource.host_name},
                            {"host.id", resource.host_id}};
      for (const auto& [name, text] : resource.more) attributes.emplace_back(name, text);
      write_attributes(out, resource_attributes, attributes);
    });
    out.message(scope_metrics, [&] {
      out.message(scope, [&] {
        out.text(scope_name, "joulery");
        out.text(scope_version, resource.version);
      });
      for (const MetricFamily& family : families) write_family(request, family);
    });
  });
  return {out.take(), request.count()};
}

}  // namespace joulery
