#include "record/column.h"

#include <zstd.h>

#include <algorithm>
#include <bit>
#include <numeric>
#include <vector>

namespace joulery {
namespace {

constexpr int zstd_level = 3;

// What divides a column's values, so that noise is counted in the sensor's own steps.
enum class Scale : std::uint8_t {
  none,         // value = k
  multiple,     // value = k * step
  thousandths,  // value = floor(k * step / 1000), as Linux makes microjoules from RAPL counts
};

enum class PlaneCoding : std::uint8_t { constant, raw, zstd };

struct Step {
  Scale scale = Scale::none;
  std::uint64_t step = 1;
};

// The greatest value for which k * step stays well within 64 bits.
constexpr std::int64_t thousandths_limit = std::int64_t{1} << 53;

std::uint64_t magnitude(std::int64_t value) {
  const auto bits = static_cast<std::uint64_t>(value);
  return value < 0 ? ~bits + 1 : bits;
}

std::int64_t from_thousandths(std::uint64_t k, std::uint64_t step) { return static_cast<std::int64_t>(k * step / 1000); }
std::uint64_t to_thousandths(std::int64_t value, std::uint64_t step) {
  return (static_cast<std::uint64_t>(value) * 1000 + step - 1) / step;
}

// The RAPL step that explains every value, or 0. Linux: nanojoules per count = 10^9 >> ESU, cut to a whole number
// (intel_rapl_common.c); ESU is 14 on most processors, 10 to 20 are tried.
std::uint64_t rapl_step(std::span<const std::int64_t> values) {
  const auto [least, greatest] = std::minmax_element(values.begin(), values.end());
  if (*least < 0 || *greatest > thousandths_limit / 1000 || *least == *greatest) return 0;
  for (unsigned esu = 10; esu <= 19; ++esu) {
    const std::uint64_t step = 1'000'000'000u >> esu;
    const auto explained = [step](std::int64_t value) { return from_thousandths(to_thousandths(value, step), step) == value; };
    if (std::all_of(values.begin(), values.end(), explained)) return step;
  }
  return 0;
}

Step find_step(std::span<const std::int64_t> values) {
  std::uint64_t divisor = 0;
  for (const std::int64_t value : values) {
    divisor = std::gcd(divisor, magnitude(value));
    if (divisor == 1) break;
  }
  if (divisor > 1 && divisor < (std::uint64_t{1} << 62)) return {Scale::multiple, divisor};
  if (divisor != 1) return {};
  const std::uint64_t step = rapl_step(values);
  return step == 0 ? Step{} : Step{Scale::thousandths, step};
}

void divide(std::span<std::int64_t> values, Step step) {
  if (step.scale == Scale::multiple) {
    for (auto& value : values) value /= static_cast<std::int64_t>(step.step);
  }
  if (step.scale == Scale::thousandths) {
    for (auto& value : values) value = static_cast<std::int64_t>(to_thousandths(value, step.step));
  }
}

void multiply(std::span<std::int64_t> values, Step step) {
  if (step.scale == Scale::multiple) {
    for (auto& value : values) value = static_cast<std::int64_t>(static_cast<std::uint64_t>(value) * step.step);
  }
  if (step.scale == Scale::thousandths) {
    for (auto& value : values) value = from_thousandths(static_cast<std::uint64_t>(value), step.step);
  }
}

// values[i] - values[i-1] from `first` on, modulo 2^64.
void difference(std::span<std::int64_t> values, std::size_t first) {
  for (std::size_t i = values.size(); i-- > first;) {
    values[i] = static_cast<std::int64_t>(static_cast<std::uint64_t>(values[i]) - static_cast<std::uint64_t>(values[i - 1]));
  }
}

// Of a long column the median of some values spread over it: any base near the middle packs as well.
std::int64_t median(std::span<const std::int64_t> values, std::vector<std::int64_t>& work) {
  constexpr std::size_t enough = 64;
  if (values.empty()) return 0;
  const std::size_t stride = values.size() / enough + 1;
  work.clear();
  for (std::size_t i = stride / 2; i < values.size(); i += stride) work.push_back(values[i]);
  const auto middle = work.begin() + static_cast<std::ptrdiff_t>(work.size() / 2);
  std::nth_element(work.begin(), middle, work.end());
  return *middle;
}

std::uint64_t folded(std::int64_t value, std::int64_t base) {
  return zigzag(static_cast<std::int64_t>(static_cast<std::uint64_t>(value) - static_cast<std::uint64_t>(base)));
}

// Bits that the column would take if each value cost the length of its distance from the base.
std::uint64_t cost(std::span<const std::int64_t> values, std::int64_t base) {
  std::uint64_t bits = 0;
  for (const std::int64_t value : values) {
    const std::uint64_t distance = folded(value, base);
    bits += static_cast<std::uint64_t>(std::bit_width((distance >> 1) + (distance & 1)));
  }
  return bits;
}

}  // namespace

struct ColumnCodec::Memory {
  ZSTD_CCtx* compress = ZSTD_createCCtx();
  ZSTD_DCtx* decompress = ZSTD_createDCtx();
  std::vector<std::int64_t> values, trial, work;
  Bytes planes[8];
  Bytes packed;

  Memory() = default;
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory() {
    ZSTD_freeCCtx(compress);
    ZSTD_freeDCtx(decompress);
  }

  void encode_plane(const Bytes& plane, Bytes& out, Packing packing);
  void encode_planes(std::span<const std::int64_t> residuals, std::int64_t base, Bytes& out, Packing packing);
  bool decode_plane(ByteReader& in, Bytes& plane, std::size_t rows);
  bool decode_planes(ByteReader& in, std::span<std::int64_t> residuals);
};

void ColumnCodec::Memory::encode_plane(const Bytes& plane, Bytes& out, Packing packing) {
  if (std::all_of(plane.begin(), plane.end(), [&](std::uint8_t byte) { return byte == plane[0]; })) {
    out.push_back(static_cast<std::uint8_t>(PlaneCoding::constant));
    out.push_back(plane[0]);
    return;
  }
  const auto as_it_is = [&] {
    out.push_back(static_cast<std::uint8_t>(PlaneCoding::raw));
    out.insert(out.end(), plane.begin(), plane.end());
  };
  if (packing == Packing::quick) return as_it_is();
  packed.resize(ZSTD_compressBound(plane.size()));
  const std::size_t size = ZSTD_compressCCtx(compress, packed.data(), packed.size(), plane.data(), plane.size(), zstd_level);
  if (ZSTD_isError(size) || size + 2 >= plane.size()) return as_it_is();
  out.push_back(static_cast<std::uint8_t>(PlaneCoding::zstd));
  put_varint(out, size);
  out.insert(out.end(), packed.begin(), packed.begin() + static_cast<std::ptrdiff_t>(size));
}

void ColumnCodec::Memory::encode_planes(std::span<const std::int64_t> residuals, std::int64_t base, Bytes& out, Packing packing) {
  std::uint64_t all = 0;
  for (const std::int64_t value : residuals) all |= folded(value, base);
  const std::size_t count = (static_cast<std::size_t>(std::bit_width(all)) + 7) / 8;
  out.push_back(static_cast<std::uint8_t>(count));
  for (std::size_t p = 0; p < count; ++p) {
    planes[p].resize(residuals.size());
    for (std::size_t i = 0; i < residuals.size(); ++i) planes[p][i] = static_cast<std::uint8_t>(folded(residuals[i], base) >> (8 * p));
    encode_plane(planes[p], out, packing);
  }
}

bool ColumnCodec::Memory::decode_plane(ByteReader& in, Bytes& plane, std::size_t rows) {
  plane.resize(rows);
  const std::uint8_t coding = in.byte();
  if (coding == static_cast<std::uint8_t>(PlaneCoding::constant)) {
    std::fill(plane.begin(), plane.end(), in.byte());
    return in.ok();
  }
  const bool is_zstd = coding == static_cast<std::uint8_t>(PlaneCoding::zstd);
  if (!is_zstd && coding != static_cast<std::uint8_t>(PlaneCoding::raw)) return false;
  const auto bytes = in.take(is_zstd ? in.varint() : rows);
  if (!in.ok()) return false;
  if (is_zstd) return ZSTD_decompressDCtx(decompress, plane.data(), rows, bytes.data(), bytes.size()) == rows;
  std::copy(bytes.begin(), bytes.end(), plane.begin());
  return true;
}

// Joins the planes, unfolds; the base is added by the caller.
bool ColumnCodec::Memory::decode_planes(ByteReader& in, std::span<std::int64_t> residuals) {
  const std::size_t count = in.byte(), rows = residuals.size();
  if (!in.ok() || count > 8 || (count > 0 && rows == 0)) return false;
  for (std::size_t p = 0; p < count; ++p) {
    if (!decode_plane(in, planes[p], rows)) return false;
  }
  if (count == 0) std::fill(residuals.begin(), residuals.end(), 0);
  if (count == 1) {
    for (std::size_t i = 0; i < rows; ++i) residuals[i] = unzigzag(planes[0][i]);
  }
  if (count == 2) {
    for (std::size_t i = 0; i < rows; ++i) residuals[i] = unzigzag(planes[0][i] | std::uint64_t{planes[1][i]} << 8);
  }
  if (count < 3) return true;
  for (std::size_t i = 0; i < rows; ++i) residuals[i] = static_cast<std::int64_t>(planes[0][i] | std::uint64_t{planes[1][i]} << 8);
  for (std::size_t p = 2; p < count; ++p) {
    for (std::size_t i = 0; i < rows; ++i) {
      residuals[i] = static_cast<std::int64_t>(static_cast<std::uint64_t>(residuals[i]) | std::uint64_t{planes[p][i]} << (8 * p));
    }
  }
  for (auto& value : residuals) value = unzigzag(static_cast<std::uint64_t>(value));
  return true;
}

ColumnCodec::ColumnCodec() : memory_(std::make_unique<Memory>()) {}
ColumnCodec::~ColumnCodec() = default;

// First differences around one of them.
void ColumnCodec::encode_quickly(std::span<const std::int64_t> input, Bytes& out) {
  auto& values = memory_->values;
  values.assign(input.begin(), input.end());
  const std::size_t order = values.empty() ? 0 : 1;
  difference(values, 1);
  const std::int64_t base = values.size() > 1 ? values[1 + (values.size() - 1) / 2] : 0;
  out.push_back(static_cast<std::uint8_t>(order));
  if (order > 0) put_signed(out, values[0]);
  put_signed(out, base);
  memory_->encode_planes(std::span(values).subspan(order), base, out, Packing::quick);
}

void ColumnCodec::encode(std::span<const std::int64_t> input, Bytes& out, Packing packing) {
  if (packing == Packing::quick) return encode_quickly(input, out);
  auto& values = memory_->values;
  auto& trial = memory_->trial;
  auto& work = memory_->work;
  values.assign(input.begin(), input.end());
  const Step step = find_step(values);
  divide(values, step);

  std::size_t order = 0;
  std::int64_t base = median(values, work);
  std::uint64_t least = cost(values, base);
  trial = values;
  for (std::size_t next = 1; next <= 2 && next < values.size(); ++next) {
    difference(trial, next);
    const auto rest = std::span(trial).subspan(next);
    const std::int64_t middle = median(rest, work);
    const std::uint64_t price = cost(rest, middle);
    if (price >= least) continue;
    order = next, base = middle, least = price;
  }
  for (std::size_t next = 1; next <= order; ++next) difference(values, next);

  out.push_back(static_cast<std::uint8_t>(order | static_cast<std::size_t>(step.scale) << 2));
  if (step.scale != Scale::none) put_varint(out, step.step);
  for (std::size_t i = 0; i < order; ++i) put_signed(out, values[i]);
  put_signed(out, base);
  memory_->encode_planes(std::span(values).subspan(order), base, out, Packing::tight);
}

bool ColumnCodec::decode(ByteReader& in, std::span<std::int64_t> values) {
  const std::uint8_t form = in.byte();
  const std::size_t order = form & 3u, scale = form >> 2u;
  if (!in.ok() || order > 2 || order > values.size() || scale > 2 || values.size() > max_rows) return false;
  Step step{static_cast<Scale>(scale), 1};
  if (step.scale != Scale::none) step.step = in.varint();
  std::uint64_t first[2] = {};
  for (std::size_t i = 0; i < order; ++i) first[i] = static_cast<std::uint64_t>(in.signed_varint());
  const auto base = static_cast<std::uint64_t>(in.signed_varint());
  if (!in.ok() || !memory_->decode_planes(in, values.subspan(order))) return false;

  // Values before the residuals: the first value, and for order 2 the second (the first plus the first difference).
  if (order > 0) values[0] = static_cast<std::int64_t>(first[0]);
  std::uint64_t sum = first[0], slope = first[1];
  if (order == 2) values[1] = static_cast<std::int64_t>(sum += slope);
  const auto rest = values.subspan(order);
  if (order == 0) {
    for (auto& value : rest) value = static_cast<std::int64_t>(static_cast<std::uint64_t>(value) + base);
  } else if (order == 1) {
    for (auto& value : rest) value = static_cast<std::int64_t>(sum += static_cast<std::uint64_t>(value) + base);
  } else {
    for (auto& value : rest) value = static_cast<std::int64_t>(sum += slope += static_cast<std::uint64_t>(value) + base);
  }
  multiply(values, step);
  return true;
}

bool ColumnCodec::skip(ByteReader& in, std::size_t rows) {
  const std::uint8_t form = in.byte();
  const std::size_t order = form & 3u, scale = form >> 2u;
  if (!in.ok() || order > 2 || order > rows || scale > 2) return false;
  for (std::size_t i = 0; i < order + (scale != 0 ? 2 : 1); ++i) in.varint();
  const std::size_t planes = in.byte();
  for (std::size_t p = 0; p < planes && in.ok(); ++p) {
    const std::uint8_t coding = in.byte();
    if (coding > static_cast<std::uint8_t>(PlaneCoding::zstd)) return false;
    if (coding == static_cast<std::uint8_t>(PlaneCoding::constant)) in.byte();
    if (coding == static_cast<std::uint8_t>(PlaneCoding::raw)) in.take(rows - order);
    if (coding == static_cast<std::uint8_t>(PlaneCoding::zstd)) in.take(in.varint());
  }
  return in.ok();
}

}  // namespace joulery
