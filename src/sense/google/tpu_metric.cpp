#include "sense/google/tpu_metric.h"

#include <bit>
#include <cmath>
#include <cstring>

namespace joulery {
namespace {

// One field of a message: its number, and its value by its wire type.
struct Field {
  std::uint32_t number = 0;
  std::uint64_t whole = 0;     // varint, or the bits of a fixed width
  std::string_view bytes;      // of a nested message or text
  bool nested = false;
};

class Fields {
 public:
  explicit Fields(std::string_view message) : rest_(message) {}

  // The next field; nothing at the end, or where the bytes are broken: then broken() is true.
  std::optional<Field> next() {
    if (rest_.empty() || broken_) return std::nullopt;
    Field field;
    const std::uint64_t key = varint();
    field.number = static_cast<std::uint32_t>(key >> 3);
    switch (key & 7) {
      case 0: field.whole = varint(); break;
      case 1: field.whole = fixed(8); break;
      case 2: field.bytes = text(varint()), field.nested = true; break;
      case 5: field.whole = fixed(4); break;
      default: broken_ = true;  // groups are long gone from the format
    }
    if (field.number == 0) broken_ = true;
    return broken_ ? std::nullopt : std::optional(field);
  }
  bool broken() const { return broken_; }

 private:
  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(rest_.front());
      rest_.remove_prefix(1);
      value |= std::uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return value;
    }
    broken_ = true;
    return 0;
  }
  std::uint64_t fixed(std::size_t size) {
    std::uint64_t value = 0;
    const std::string_view bytes = text(size);
    static_assert(std::endian::native == std::endian::little, "protobuf's fixed widths are little-endian");
    if (!bytes.empty()) std::memcpy(&value, bytes.data(), bytes.size());  // of nothing there is no address
    return value;
  }
  std::string_view text(std::uint64_t size) {
    if (size > rest_.size()) {
      broken_ = true;
      return {};
    }
    const std::string_view bytes = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return bytes;
  }

  std::string_view rest_;
  bool broken_ = false;
};

// Calls `take` for each field; false where the bytes are broken or `take` says so.
template <class Take>
bool each_field(std::string_view message, Take take) {
  Fields fields(message);
  while (const auto field = fields.next())
    if (!take(*field)) return false;
  return !fields.broken();
}

// AttrValue: int_attr is field 3. Attribute: its value is field 2.
bool parse_attribute(std::string_view message, std::int64_t& device) {
  return each_field(message, [&](const Field& field) {
    if (field.number != 2 || !field.nested) return true;
    return each_field(field.bytes, [&](const Field& value) {
      if (value.number == 3 && !value.nested) device = static_cast<std::int64_t>(value.whole);
      return true;
    });
  });
}

// Gauge and Counter: as_double is field 1, as_int field 2.
bool parse_measure(std::string_view message, std::optional<double>& measure) {
  return each_field(message, [&](const Field& field) {
    if (field.number == 1 && !field.nested) measure = std::bit_cast<double>(field.whole);
    if (field.number == 2 && !field.nested) measure = static_cast<double>(static_cast<std::int64_t>(field.whole));
    return true;
  });
}

// Metric: attribute 1, gauge 3, counter 4. A value of proto3 that is 0 is not sent: an empty gauge is 0.
bool parse_metric(std::string_view message, std::vector<TpuValue>& values) {
  std::int64_t device = 0;
  std::optional<double> measure;
  const bool sound = each_field(message, [&](const Field& field) {
    if (field.number == 1 && field.nested) return parse_attribute(field.bytes, device);
    if ((field.number != 3 && field.number != 4) || !field.nested) return true;
    measure = 0;
    return parse_measure(field.bytes, measure);
  });
  if (!sound || (measure && !std::isfinite(*measure))) return false;
  if (measure) values.push_back({device, *measure});
  return true;
}

}  // namespace

std::optional<std::vector<TpuValue>> parse_tpu_metric(std::string_view message) {
  std::vector<TpuValue> values;
  const bool sound = each_field(message, [&](const Field& response) {      // MetricResponse: metric 1
    if (response.number != 1 || !response.nested) return true;
    return each_field(response.bytes, [&](const Field& metric) {           // TPUMetric: metrics 3
      return metric.number != 3 || !metric.nested || parse_metric(metric.bytes, values);
    });
  });
  return sound ? std::optional(std::move(values)) : std::nullopt;
}

std::string tpu_metric_request(std::string_view metric) {
  std::string message = "\x0a";  // field 1, a text
  for (std::size_t size = metric.size();; size >>= 7) {
    message += static_cast<char>((size & 0x7f) | (size > 0x7f ? 0x80 : 0));
    if (size <= 0x7f) break;
  }
  return message.append(metric);
}

}  // namespace joulery
