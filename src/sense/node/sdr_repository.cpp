#include "sense/node/sdr_repository.h"

#include <algorithm>

namespace joulery {
namespace {

constexpr std::uint8_t storage = 0x0A, reserve_repository = 0x22, get_sdr = 0x23;
constexpr std::uint8_t full_record = 0x01, own_address = 0x20, reservation_cancelled = 0xC5;
constexpr unsigned last_record = 0xFFFF;
constexpr std::size_t header_size = 5, type_at = 3, length_at = 4, owner_at = 5, event_type_at = 13, base_unit_at = 21;
constexpr std::size_t most_at_once = 19;  // with the header this reaches the units; a message of 32 bytes holds it on any bus
constexpr int most_records = 4096, most_reservations = 8;

constexpr std::uint8_t low(unsigned value) { return static_cast<std::uint8_t>(value); }
constexpr std::uint8_t high(unsigned value) { return static_cast<std::uint8_t>(value >> 8); }

class Walk {
 public:
  Walk(IpmiTransport& transport, MonoTime deadline) : transport_(transport), deadline_(deadline) {}

  Answer<std::vector<WattSensor>> run() {
    if (const auto reserved = reserve(); !reserved) return std::unexpected(reserved.error());
    std::vector<WattSensor> sensors;
    unsigned id = 0;
    for (int count = 0; count < most_records && mono_now() < deadline_; ++count) {
      const auto record = read_record(id);
      if (!record && count == 0) return std::unexpected(record.error());
      if (!record) break;
      if (auto sensor = parse_watt_sensor(*record); sensor && sensor->owner == own_address) sensors.push_back(std::move(*sensor));
      if (next_ == last_record || next_ == id) break;
      id = next_;
    }
    return sensors;
  }

 private:
  Duration left() const { return std::max(deadline_ - mono_now(), milliseconds(1)); }

  Answer<void> reserve() {
    const auto data = ask(transport_, {storage, reserve_repository}, left());
    if (!data) return std::unexpected(data.error());
    if (data->size() < 2) return std::unexpected(Trouble{MissingReason::rubbish, "the reply to Reserve SDR Repository is too short"});
    reservation_ = le16(*data, 0);
    return {};
  }

  // Appends up to `count` bytes of record `id` from the end of `record` on.
  Answer<void> read_more(unsigned id, std::vector<std::uint8_t>& record, std::size_t count) {
    for (int tries = 0;; ++tries) {
      const auto reply = transport_.exchange({storage,
                                              get_sdr,
                                              {low(reservation_), high(reservation_), low(id), high(id),
                                               low(static_cast<unsigned>(record.size())), low(static_cast<unsigned>(count))}},
                                             left());
      if (!reply) return std::unexpected(reply.error());
      if (reply->completion == reservation_cancelled && tries < most_reservations && mono_now() < deadline_) {
        if (const auto again = reserve(); !again) return again;
        continue;
      }
      if (reply->completion != 0) return std::unexpected(completion_trouble(reply->completion));
      if (reply->data.size() < 3) return std::unexpected(Trouble{MissingReason::rubbish, "the reply to Get SDR is too short"});
      next_ = le16(reply->data, 0);
      const std::size_t got = std::min(count, reply->data.size() - 2);  // at least 1: a walk must get on
      record.insert(record.end(), reply->data.begin() + 2, reply->data.begin() + 2 + static_cast<std::ptrdiff_t>(got));
      return {};
    }
  }

  static bool may_be_watts(const std::vector<std::uint8_t>& record) {
    return record.size() <= base_unit_at || (record[owner_at] == own_address && record[event_type_at] == 1 && record[base_unit_at] == 6);
  }

  Answer<std::vector<std::uint8_t>> read_record(unsigned id) {
    std::vector<std::uint8_t> record;
    if (const auto head = read_more(id, record, header_size); !head) return std::unexpected(head.error());
    if (record.size() < header_size || record[type_at] != full_record) return record;
    const std::size_t whole = header_size + record[length_at];
    while (record.size() < whole && may_be_watts(record)) {
      const auto more = read_more(id, record, std::min(most_at_once, whole - record.size()));
      if (!more) return std::unexpected(more.error());
    }
    return record;
  }

  IpmiTransport& transport_;
  MonoTime deadline_;
  unsigned reservation_ = 0, next_ = last_record;
};

}  // namespace

Answer<std::vector<WattSensor>> find_watt_sensors(IpmiTransport& transport, MonoTime deadline) { return Walk(transport, deadline).run(); }

}  // namespace joulery
