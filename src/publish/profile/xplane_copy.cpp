#include "publish/profile/xplane_copy.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>

#include "watch/profile/proto_reader.h"
#include "watch/profile/xplane.h"
#include "watch/profile/xplane_fields.h"

namespace joulery {
namespace {

using namespace xplane;

struct Added {
  std::string_view name, description;
};
enum AddedStat { energy_j, energy_self_j, energy_quality, vdd_energy_j, estimated };
constexpr std::array<Added, 5> added{{
    {"energy_j", "joules of all that ran inside this event, as joulery gives them"},
    {"energy_self_j", "joules of this event by itself, as joulery gives them"},
    {"energy_quality", "how the joules are known: measured, integrated, derived or estimated"},
    {"vdd_energy_j", "joules of this event by itself: all that its device burnt, not one rail alone"},
    {"estimated", ""},
}};

void put_varint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}
void put_head(std::string& out, std::uint32_t number, std::uint8_t wire, std::uint64_t value) {
  put_varint(out, std::uint64_t{number} << 3 | wire);
  if (wire == 0 || wire == 2) return put_varint(out, value);
  for (int i = 0; i < (wire == 1 ? 8 : 4); ++i) out += static_cast<char>(value >> (8 * i));
}
void put_bytes(std::string& out, std::uint32_t number, std::string_view bytes) {
  put_head(out, number, 2, bytes.size());
  out += bytes;
}

class XplaneCopier {
 public:
  XplaneCopier(TraceInput& input, const std::vector<PlaneNames>& planes, const EnergyFinder& energy, const PutBytes& put)
      : stream_(input), planes_(&planes), energy_(&energy), put_(&put), placer_(planes, input.limits()) {}

  Result<void> copy() {
    if (const auto counted = walk(true); !counted) return counted;
    if (const auto written = walk(false); !written) return written;
    flush();
    if (failed_) return fail(ErrorCode::io, "cannot write the copy of the trace");
    return {};
  }

 private:
  Result<void> walk(bool counting) {
    counting_ = counting;
    plane_ = line_ = 0;
    track_ = 0;
    if (const auto again = stream_.input().rewind(); !again) return again;
    ProtoField field;
    for (;;) {
      const auto more = stream_.next(until_the_end, field);
      if (!more) return std::unexpected(more.error());
      if (!*more) return {};
      const bool plane = field.number == space_planes && field.wire == 2;
      const auto copied = plane ? nested(field, plane_sizes_, plane_, &XplaneCopier::copy_plane) : copy_field(field);
      if (!copied) return copied;
    }
  }

  // A message whose size changes: counted in the first walk, and written with that size in the second.
  Result<void> nested(const ProtoField& field, std::vector<std::uint64_t>& sizes, std::size_t& next,
                      Result<void> (XplaneCopier::*inside)(std::uint64_t)) {
    const std::uint64_t end = stream_.offset() + field.value;
    const std::size_t own = next++;
    if (counting_)
      sizes.resize(std::max(sizes.size(), own + 1));
    else if (own >= sizes.size())
      return fail(ErrorCode::io, "the trace changed while it was copied", stream_.input().name());
    if (!counting_) head({field.number, 2, sizes[own]});
    const std::uint64_t before = emitted_;
    if (const auto copied = (this->*inside)(end); !copied) return copied;
    if (counting_) {
      sizes[own] = emitted_ - before;
      head({field.number, 2, sizes[own]});
    }
    return {};
  }

  void emit(std::string_view bytes) {
    emitted_ += bytes.size();
    if (counting_) return;
    out_ += bytes;
    if (out_.size() > 1 << 18) flush();
  }
  void flush() {
    if (!failed_ && !(*put_)(out_)) failed_ = true;
    out_.clear();
  }
  void head(const ProtoField& field) {
    head_.clear();
    put_head(head_, field.number, field.wire, field.value);
    emit(head_);
  }

  // As it is, however long.
  Result<void> copy_field(const ProtoField& field) {
    head(field);
    if (field.wire != 2) return {};
    if (counting_) {
      emitted_ += field.value;
      return stream_.skip(field);
    }
    for (std::uint64_t left = field.value; left > 0;) {
      const ProtoField part{field.number, 2, std::min<std::uint64_t>(left, 1 << 18)};
      const auto payload = stream_.payload(part);
      if (!payload) return std::unexpected(payload.error());
      emit(*payload);
      stream_.take(*payload);
      left -= part.value;
    }
    return {};
  }

  Result<void> copy_plane(std::uint64_t end) {
    const std::size_t number = plane_ - 1;
    if (number >= planes_->size()) return fail(ErrorCode::io, "the trace changed while it was copied", stream_.input().name());
    placer_.begin_plane(number);
    choose_ids((*planes_)[number]);
    ProtoField field;
    for (;;) {
      const auto more = stream_.next(end, field);
      if (!more) return std::unexpected(more.error());
      if (!*more) break;
      const bool line = field.number == plane_lines && field.wire == 2;
      const auto copied = line ? nested(field, line_sizes_, line_, &XplaneCopier::copy_line) : copy_field(field);
      if (!copied) return copied;
    }
    add_names();
    return {};
  }

  // Numbers for our statistics that the plane does not use; its own where it has them by name.
  void choose_ids(const PlaneNames& plane) {
    std::int64_t next = 1;
    for (const auto& [id, name] : plane.stats)
      if (id < std::numeric_limits<std::int64_t>::max() - 16) next = std::max(next, id + 1);
    for (std::size_t i = 0; i < added.size(); ++i) {
      const auto known = std::ranges::find_if(plane.stats, [&](const auto& entry) { return entry.second == added[i].name; });
      is_new_[i] = known == plane.stats.end();
      ids_[i] = is_new_[i] ? next++ : known->first;
    }
    used_ = false;
  }

  void add_names() {
    if (!used_) return;
    for (std::size_t i = 0; i < added.size(); ++i) {
      if (!is_new_[i]) continue;
      std::string metadata, entry, field;
      put_head(metadata, metadata_id, 0, static_cast<std::uint64_t>(ids_[i]));
      put_bytes(metadata, metadata_name, added[i].name);
      if (!added[i].description.empty()) put_bytes(metadata, 3, added[i].description);
      put_head(entry, map_key, 0, static_cast<std::uint64_t>(ids_[i]));
      put_bytes(entry, map_value, metadata);
      put_bytes(field, plane_stat_metadata, entry);
      emit(field);
    }
  }

  Result<void> copy_line(std::uint64_t end) {
    std::int64_t timestamp = 0;
    std::optional<std::uint32_t> track;
    ProtoField field;
    for (;;) {
      const auto more = stream_.next(end, field);
      if (!more) return std::unexpected(more.error());
      if (!*more) return {};
      if (field.number == line_timestamp_ns) timestamp = static_cast<std::int64_t>(field.value);
      if (field.number != line_events || field.wire != 2) {
        if (const auto copied = copy_field(field); !copied) return copied;
        continue;
      }
      if (!track) track = track_++;
      const auto payload = stream_.payload(field);
      if (!payload) return std::unexpected(payload.error());
      copy_event(*payload, *track, placer_.line_begin(timestamp));
      stream_.take(*payload);
    }
  }

  void copy_event(std::string_view event, std::uint32_t track, std::int64_t line_begin) {
    const auto placed = placer_.place(event);
    const auto joules = placed ? energy_->find(track, line_begin + placed->begin, placed->duration, placed->name) : std::nullopt;
    if (!joules) {
      head({line_events, 2, event.size()});
      return emit(event);
    }
    used_ = true;
    event_.clear();
    bool has_vdd = false;
    const bool copied_before = !is_new_[energy_j] && has_stat(event, ids_[energy_j]);   // then its vdd_energy_j is ours too
    ProtoBytes fields(event);
    while (fields.next()) {
      const ProtoField& field = fields.field();
      Stat stat;
      if (field.number == event_stats && field.wire == 2 && read_stat(fields.bytes(), stat)) {
        if (is_ours(stat.id) || (copied_before && stat.id == ids_[vdd_energy_j])) continue;
        has_vdd = has_vdd || stat.id == ids_[vdd_energy_j];
      }
      put_head(event_, field.number, field.wire, field.value);
      event_ += fields.bytes();
    }
    add_double(energy_j, joules->whole);
    if (!joules->range) add_double(energy_self_j, joules->own);
    add_quality();
    if (joules->on_device && !has_vdd) add_double(vdd_energy_j, joules->own);
    head({line_events, 2, event_.size()});
    emit(event_);
  }

  static bool has_stat(std::string_view event, std::int64_t id) {
    ProtoBytes fields(event);
    while (fields.next()) {
      Stat stat;
      if (fields.field().number == event_stats && fields.field().wire == 2 && read_stat(fields.bytes(), stat) && stat.id == id) return true;
    }
    return false;
  }
  // Of an earlier copy.
  bool is_ours(std::int64_t id) const { return id == ids_[energy_j] || id == ids_[energy_self_j] || id == ids_[energy_quality]; }

  void add_double(AddedStat which, double value) {
    stat_.clear();
    put_head(stat_, stat_metadata_id, 0, static_cast<std::uint64_t>(ids_[which]));
    put_head(stat_, stat_double, 1, std::bit_cast<std::uint64_t>(value));
    put_bytes(event_, event_stats, stat_);
  }
  void add_quality() {
    stat_.clear();
    put_head(stat_, stat_metadata_id, 0, static_cast<std::uint64_t>(ids_[energy_quality]));
    put_head(stat_, stat_ref, 0, static_cast<std::uint64_t>(ids_[estimated]));
    put_bytes(event_, event_stats, stat_);
  }

  ProtoStream stream_;
  const std::vector<PlaneNames>* planes_;
  const EnergyFinder* energy_;
  const PutBytes* put_;
  XplanePlacer placer_;
  bool counting_ = true, failed_ = false, used_ = false;
  std::uint64_t emitted_ = 0;
  std::size_t plane_ = 0, line_ = 0;
  std::uint32_t track_ = 0;
  std::vector<std::uint64_t> plane_sizes_, line_sizes_;
  std::array<std::int64_t, added.size()> ids_{};
  std::array<bool, added.size()> is_new_{};
  std::string out_, head_, event_, stat_;
};

}  // namespace

Result<void> copy_xplane(TraceInput& input, const EnergyFinder& energy, const PutBytes& put) {
  const auto names = read_names(input);
  if (!names) return std::unexpected(names.error());
  return XplaneCopier(input, *names, energy, put).copy();
}

}  // namespace joulery
