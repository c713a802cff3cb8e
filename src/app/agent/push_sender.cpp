#include "app/agent/push_sender.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <ctime>
#include <span>

#include "app/agent/snappy_block.h"
#include "publish/utf8.h"
#include "record/bytes.h"

namespace joulery {
namespace {

constexpr std::size_t batch_bytes = 1 << 20, least_batch_bytes = 16 << 10, head_bytes = 5, most_told = 200;
constexpr Duration first_pause = milliseconds(1000), longest_wanted = milliseconds(600'000);
constexpr std::array about_access{301, 302, 303, 307, 308, 401, 402, 403, 404, 405, 407, 408, 410, 425};

struct Samples {
  PushKind kind = PushKind::remote_write;
  std::uint64_t count = 0;
  std::string_view bytes;
};

Samples unpack(std::string_view payload) {
  Samples samples;
  if (payload.size() < head_bytes) return samples;
  samples.kind = static_cast<PushKind>(payload[0]);
  for (std::size_t i = 4; i > 0; --i) samples.count = samples.count << 8 | static_cast<unsigned char>(payload[i]);
  samples.bytes = payload.substr(head_bytes);
  return samples;
}

HttpCall request_for(const PushTarget& target, std::string body) {
  HttpCall request{.method = "POST", .url = target.url};
  request.content_type = "application/x-protobuf";
  if (target.kind == PushKind::remote_write) {
    request.headers = {"Content-Encoding: snappy", "X-Prometheus-Remote-Write-Version: 0.1.0"};
    request.body = snappy_block(body);
  } else {
    request.body = std::move(body);
  }
  return request;
}

std::string_view reason_name(MissingReason reason) {
  switch (reason) {
    case MissingReason::timed_out: return "timeout";
    case MissingReason::gone: return "unreachable";
    case MissingReason::rubbish: return "rubbish";
    default: return "io_error";
  }
}

// Engines name so what they have already, or something newer than it: after an answer that was lost, nothing is missing.
bool is_about_order(std::string_view body) {
  return body.contains("out of order") || body.contains("out of bounds") || body.contains("duplicate sample");
}

std::optional<unsigned> number_in(std::string_view text) {
  unsigned value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

// "Sun, 06 Nov 1994 08:49:37 GMT": the one form of date that HTTP still allows to write.
std::optional<WallTime> parse_date(std::string_view text) {
  constexpr std::string_view months = "JanFebMarAprMayJunJulAugSepOctNovDec";
  if (text.size() != 29 || !text.ends_with(" GMT")) return std::nullopt;
  const auto month = months.find(text.substr(8, 3));
  const auto day = number_in(text.substr(5, 2)), year = number_in(text.substr(12, 4)), hour = number_in(text.substr(17, 2));
  const auto minute = number_in(text.substr(20, 2)), second = number_in(text.substr(23, 2));
  if (month == std::string_view::npos || month % 3 || !day || !year || !hour || !minute || !second) return std::nullopt;
  std::tm parts{};
  parts.tm_year = static_cast<int>(*year) - 1900;
  parts.tm_mon = static_cast<int>(month / 3);
  parts.tm_mday = static_cast<int>(*day);
  parts.tm_hour = static_cast<int>(*hour);
  parts.tm_min = static_cast<int>(*minute);
  parts.tm_sec = static_cast<int>(*second);
  return WallTime{static_cast<std::int64_t>(::timegm(&parts)) * 1'000'000'000};
}

// A field of a protobuf message by its number: its number where it is a varint, its bytes where it has a length.
struct Field {
  std::uint64_t number = 0;
  std::span<const std::uint8_t> bytes;
};
Field field_of(std::span<const std::uint8_t> message, std::uint64_t wanted) {
  ByteReader in(message);
  while (in.ok() && !in.at_end()) {
    const std::uint64_t tag = in.varint();
    Field field;
    if (tag % 8 == 0) field.number = in.varint();
    if (tag % 8 == 1) in.take(8);
    if (tag % 8 == 2) field.bytes = in.take(in.varint());
    if (tag % 8 == 5) in.take(4);
    if (tag % 8 > 2 && tag % 8 != 5) break;
    if (in.ok() && tag / 8 == wanted) return field;
  }
  return {};
}

}  // namespace

std::string pack_samples(PushKind kind, std::size_t samples, std::string_view bytes) {
  std::string payload(1, static_cast<char>(kind));
  for (int shift = 0; shift < 32; shift += 8) payload.push_back(static_cast<char>(samples >> shift & 0xff));
  return payload += bytes;
}

std::uint64_t samples_in(std::string_view payload) { return unpack(payload).count; }

std::optional<Duration> parse_retry_after(std::string_view text, WallTime now) {
  if (const auto whole = number_in(text)) return std::min(longest_wanted, milliseconds(std::int64_t{*whole} * 1000));
  if (const auto date = parse_date(text)) return std::clamp(*date - now, Duration{}, longest_wanted);
  return std::nullopt;
}

std::uint64_t rejected_points(std::string_view protobuf) {
  const Field partial = field_of({reinterpret_cast<const std::uint8_t*>(protobuf.data()), protobuf.size()}, 1);
  return field_of(partial.bytes, 1).number;
}

PushSender::PushSender(const PushTarget& target, FrameQueue& queue, Transport transport, std::uint64_t seed)
    : target_(target),
      queue_(queue),
      transport_(std::move(transport)),
      chance_(static_cast<std::minstd_rand::result_type>(seed)),
      most_bytes_(batch_bytes) {}

PushCounters PushSender::counters() const {
  const std::scoped_lock lock(mutex_);
  return counters_;
}

// Frames of another kind were left by a target that was configured otherwise: nobody can send them any more.
PushSender::Batch PushSender::next_batch() {
  Batch batch;
  std::uint64_t other = 0;
  for (const Frame& frame : queue_.oldest(one_by_one_ ? 1 : most_bytes_)) {
    const Samples samples = unpack(frame.payload);
    batch.last = frame.sequence;
    ++batch.frames;
    if (samples.kind != target_.kind) {
      other += samples.count;
      continue;
    }
    batch.body += samples.bytes;
    batch.samples += samples.count;
  }
  batch.all = !one_by_one_ && batch.body.size() < most_bytes_ / 2;
  if (other) drop("other_kind", other, "they were queued for a target of another kind");
  return batch;
}

std::optional<Duration> PushSender::step() {
  const Batch batch = next_batch();
  if (batch.frames == 0) return std::nullopt;
  if (batch.body.empty()) {
    queue_.done(batch.last);
    return Duration{};
  }
  HttpCall request = request_for(target_, batch.body);
  request.close = batch.all;
  const auto answer = transport_(request, target_.timeout);
  if (!answer) return failed(std::string(reason_name(answer.error().reason)), answer.error().what);
  const int status = answer->status;
  const std::string text = fmt::format("it answers HTTP {}: {}", status, printable(std::string_view(answer->body).substr(0, most_told)));
  if (status >= 200 && status < 300) return sent(batch, *answer);
  if (status == 429 || status >= 500)
    return failed(std::to_string(status), text, parse_retry_after(answer->header("retry-after"), wall_now()));
  if (std::ranges::find(about_access, status) != about_access.end()) return failed(std::to_string(status), text);
  if (status == 413 && batch.frames > 1) {
    most_bytes_ = std::max(least_batch_bytes, std::min(most_bytes_, batch.body.size()) / 2);
    if (most_bytes_ == least_batch_bytes) one_by_one_ = batch.frames;
    return Duration{};
  }
  return refused(batch, *answer);
}

Duration PushSender::sent(const Batch& batch, const HttpReply& answer) {
  queue_.done(batch.last);
  one_by_one_ -= std::min(one_by_one_, batch.frames);
  pause_ = Duration{};
  const bool tells = target_.kind == PushKind::otlp && answer.header("content-type").starts_with("application/x-protobuf");
  const std::uint64_t rejected = tells ? std::min(batch.samples, rejected_points(answer.body)) : 0;
  if (rejected) drop("rejected", rejected, "it took a part only");
  const std::scoped_lock lock(mutex_);
  counters_.sent_samples += batch.samples - rejected;
  ++counters_.sent_requests;
  counters_.last_sent = wall_now();
  if (!rejected && !one_by_one_) counters_.trouble.clear();
  return {};
}

Duration PushSender::refused(const Batch& batch, const HttpReply& answer) {
  if (batch.frames > 1) {
    one_by_one_ = batch.frames;
    return {};
  }
  queue_.done(batch.last);
  one_by_one_ -= std::min<std::size_t>(one_by_one_, 1);
  drop(is_about_order(answer.body) ? "out_of_order" : "refused", batch.samples,
       fmt::format("it refuses samples with HTTP {}: {}", answer.status, printable(std::string_view(answer.body).substr(0, most_told))));
  return {};
}

void PushSender::drop(const std::string& reason, std::uint64_t samples, const std::string& what) {
  const std::scoped_lock lock(mutex_);
  counters_.dropped_samples[reason] += samples;
  counters_.trouble = what;
}

Duration PushSender::failed(const std::string& reason, std::string what, std::optional<Duration> wanted) {
  {
    const std::scoped_lock lock(mutex_);
    ++counters_.failed_requests[reason];
    counters_.trouble = std::move(what);
  }
  pause_ = std::min(target_.longest_pause, pause_ == Duration{} ? first_pause : nanoseconds(pause_.base_units() * 2));
  if (wanted) return *wanted;
  return nanoseconds(std::uniform_int_distribution(pause_.base_units() / 2, pause_.base_units())(chance_));
}

}  // namespace joulery
