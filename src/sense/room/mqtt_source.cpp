#include "sense/room/mqtt_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include "core/units.h"
#include "sense/remote/json_number.h"
#include "sense/remote/keep_from_children.h"

namespace joulery {
namespace {

constexpr int longest_payload = 1 << 16;
constexpr int most_loops = 1000;  // messages of one round; what is left waits for the next

MqttValue value_of(const MqttMessage& message, const MqttPlace& place, const Scaling& scaling) {
  MqttValue value;
  value.received = mono_now();
  if (message.length < 0 || message.length > longest_payload || (message.length > 0 && !message.payload)) {
    value.counts = std::unexpected(MissingReason::rubbish);
    value.wrong = "is longer than 64 KiB";
    return value;
  }
  const auto number = number_at({static_cast<const char*>(message.payload), static_cast<std::size_t>(message.length)}, place.pointer);
  value.counts = number ? scaling.counts(*number) : std::unexpected(number.error().reason);
  if (!number) value.wrong = number.error().what;
  return value;
}

}  // namespace

std::string MqttSource::broker() const { return fmt::format("{}:{}", place_.host, place_.port); }

Trouble MqttSource::trouble_of(int code) const {
  const int system = errno;
  switch (static_cast<MqttReturn>(code)) {
    case MqttReturn::name_unknown: return {MissingReason::gone, place_.host + ": the host's name is not known", ""};
    case MqttReturn::tls:
      return {MissingReason::io_error, broker() + ": no TLS connection: not the certificate that ca_file vouches for, or no TLS there", ""};
    case MqttReturn::system: return {MissingReason::io_error, fmt::format("{}: {}", broker(), std::strerror(system)), ""};
    case MqttReturn::no_connection:
    case MqttReturn::lost:
    case MqttReturn::refused: return {MissingReason::gone, broker() + ": no connection to the broker", ""};
    default: return {MissingReason::io_error, fmt::format("{}: {}", broker(), api_.error_text(code)), ""};
  }
}

void MqttSource::connected(void*, void* self, int code) { static_cast<MqttSource*>(self)->connection_code_ = code; }

void MqttSource::subscribed(void*, void* self, int, int count, const int* granted) {
  static_cast<MqttSource*>(self)->granted_ = count > 0 ? granted[0] : mqtt_subscription_refused;
}

void MqttSource::received(void*, void* self, const MqttMessage* message) {
  auto& source = *static_cast<MqttSource*>(self);
  ++source.messages_;
  (message->retained ? source.retained_ : source.fresh_) = value_of(*message, source.place_, source.scaling_);
}

void MqttSource::drop() {
  if (client_) api_.destroy(std::exchange(client_, nullptr));
  connection_code_.reset();
  granted_.reset();
}

// The library wants some certificates even where none is asked for: an empty folder has none.
Answer<void> MqttSource::use_tls() {
  if (!place_.tls()) return {};
  const char* file = place_.ca_file.empty() ? nullptr : place_.ca_file.c_str();
  if (const int code = api_.set_tls(client_, file, file ? nullptr : "/", nullptr, nullptr, nullptr); code != 0)
    return std::unexpected(Trouble{MissingReason::io_error, "cannot use the certificates of " + place_.ca_file, ""});
  if (!place_.insecure) return {};
  api_.set_tls_options(client_, mqtt_verify_none, nullptr, nullptr);
  api_.set_tls_insecure(client_, true);
  return {};
}

Answer<void> MqttSource::begin() {
  drop();
  const KeepFromChildren keep;
  client_ = api_.create(nullptr, true, this);
  if (!client_) return std::unexpected(Trouble{MissingReason::io_error, "no memory for a connection", ""});
  api_.on_connect(client_, connected);
  api_.on_subscribe(client_, subscribed);
  api_.on_message(client_, received);
  if (!place_.user.empty()) api_.set_login(client_, place_.user.c_str(), place_.password ? place_.password->reveal() : nullptr);
  if (auto ready = use_tls(); !ready) return ready;
  const int code = api_.connect(client_, place_.host.c_str(), place_.port, place_.keep_alive_s);
  if (code != 0) return std::unexpected(trouble_of(code));
  return {};
}

Answer<void> MqttSource::loop_once(Duration wait) {
  const int milliseconds = static_cast<int>(std::clamp<std::int64_t>(wait.base_units() / 1'000'000, 0, 1000));
  if (const int code = api_.loop(client_, milliseconds, 1); code != 0) {
    // A broker that refuses says so and hangs up: its answer counts for more than the hanging up.
    if (!connection_code_ || *connection_code_ == 0) return std::unexpected(trouble_of(code));
  }
  if (connection_code_ && *connection_code_ != 0) {
    const bool login = *connection_code_ == mqtt_bad_login || *connection_code_ == mqtt_not_authorised;
    return std::unexpected(Trouble{login ? MissingReason::permission : MissingReason::io_error,
                                   login ? broker() + ": the broker refuses this user or password"
                                         : fmt::format("{}: {}", broker(), api_.refusal_text(*connection_code_)),
                                   ""});
  }
  if (granted_ && *granted_ >= mqtt_subscription_refused)
    return std::unexpected(Trouble{MissingReason::permission,
                                   fmt::format("{}: the broker does not let this user read the topic {}", broker(), place_.topic), ""});
  return {};
}

Answer<void> MqttSource::connect(MonoTime deadline) {
  if (client_ && granted_) return {};
  if (const auto begun = begin(); !begun) return begun;
  bool subscribing = false;
  while (!granted_) {
    const Duration left = deadline - mono_now();
    if (left <= Duration{})
      return std::unexpected(Trouble{MissingReason::timed_out, fmt::format("{}: no answer of the broker", broker()), ""});
    if (const auto looped = loop_once(left); !looped) return looped;
    if (connection_code_ && !subscribing) {
      if (const int code = api_.subscribe(client_, nullptr, place_.topic.c_str(), 0); code != 0) return std::unexpected(trouble_of(code));
      subscribing = true;
    }
  }
  return {};
}

// All that has come; then, until `until`, the next one.
Answer<void> MqttSource::take_messages(MonoTime until) {
  for (int i = 0; i < most_loops; ++i) {
    const std::uint64_t before = messages_;
    const Duration wait = std::max(until - mono_now(), Duration{});
    if (const auto looped = loop_once(wait); !looped) return looped;
    if (messages_ == before && mono_now() >= until) return {};
    if (fresh_) until = MonoTime{};
  }
  return {};
}

RemoteAnswer MqttSource::newest(MonoTime now) const {
  if (!fresh_ || now - fresh_->received > max_age_) return {{std::unexpected(MissingReason::timed_out)}};
  return {{fresh_->counts}};
}

Answer<RemoteAnswer> MqttSource::first_message(MonoTime deadline) {
  const MonoTime begin = mono_now();
  if (const auto taken = take_messages(deadline); !taken) return std::unexpected(taken.error());
  const auto& known = fresh_ ? fresh_ : retained_;
  if (known && !known->counts)
    return std::unexpected(Trouble{known->counts.error(), fmt::format("the message on {}: {}", place_.topic, known->wrong),
                                   "mosquitto_sub -h HOST -t TOPIC -C 1  # shows a message"});
  if (fresh_) return newest(mono_now());
  const std::string what = fmt::format("nothing was published on {} in {}", place_.topic, to_text(mono_now() - begin));
  return std::unexpected(Trouble{MissingReason::timed_out, what + (retained_ ? "; what the broker retains may be of any age" : ""), ""});
}

Answer<RemoteAnswer> MqttSource::ask(Duration limit) {
  const MonoTime deadline = mono_now() + limit;
  auto connected_now = connect(deadline);
  if (connected_now && !asked_) {
    asked_ = true;
    return first_message(deadline);
  }
  if (connected_now) connected_now = take_messages(MonoTime{});
  if (!connected_now) {
    drop();
    return std::unexpected(connected_now.error());
  }
  return newest(mono_now());
}

}  // namespace joulery
