// A profile as Chrome's JSON, for formats that are not JSON themselves.
#include <fmt/format.h>

#include "publish/json_writer.h"
#include "publish/profile/chrome_copy.h"
#include "publish/profile/power_counters.h"

namespace joulery {
namespace {

class ChromeWriter {
 public:
  ChromeWriter(const EnergyFinder& energy, const PutBytes& put) : energy_(&energy), profile_(&energy.profile()), put_(&put) {}

  Result<void> write() {
    // Times begin at 0 and the base says of what: 19 digits are more than a viewer's numbers hold.
    base_ = profile_->begin;
    out_ = fmt::format(R"({{"displayTimeUnit":"ns","baseTimeNanoseconds":{},"traceEvents":[)",
                       profile_->clock == ProfileClock::wall ? base_ : 0);
    for (std::uint32_t track = 0; track < profile_->tracks.size() && !failed_; ++track) write_track(track);
    if (energy_->source())
      put_power_counters(*profile_, *energy_->source(), base_, [&](const std::string& event) {
        put_event(event);
        return !failed_;
      });
    out_ += "\n]}\n";
    flush();
    if (failed_) return fail(ErrorCode::io, "cannot write the trace");
    return {};
  }

 private:
  void flush() {
    if (!failed_ && !(*put_)(out_)) failed_ = true;
    out_.clear();
  }
  void put_event(const std::string& event) {
    out_ += any_ ? ",\n" : "\n";
    out_ += event;
    any_ = true;
    if (out_.size() > 1 << 18) flush();
  }

  void write_track(std::uint32_t number) {
    const ProfileTrack& track = profile_->tracks[number];
    if (track.events.empty()) return;
    const std::int64_t pid = track.device >= 0 ? track.device : track.process;
    const std::string process = track.device >= 0 ? fmt::format("device {}", track.device) : std::string("host");
    put_event(
        fmt::format(R"({{"ph":"M","name":"process_name","pid":{},"tid":{},"args":{{"name":{}}}}})", pid, number, json_quoted(process)));
    put_event(
        fmt::format(R"({{"ph":"M","name":"thread_name","pid":{},"tid":{},"args":{{"name":{}}}}})", pid, number, json_quoted(track.name)));
    for (const ProfileEvent& event : track.events) {
      if (failed_) return;
      const std::string_view name = profile_->name(event.name);
      const auto joules = energy_->find(number, event.begin, event.duration, name);
      std::string args = joules ? energy_arguments(*joules) : "";
      if (event.layer != 0) args += fmt::format("{}\"layer\":{}", args.empty() ? "" : ",", json_quoted(profile_->name(event.layer)));
      put_event(fmt::format(R"({{"ph":"X","cat":"{}","name":{},"pid":{},"tid":{},"ts":{},"dur":{},"args":{{{}}}}})", name_of(event.kind),
                            json_quoted(name), pid, number, microseconds_text(event.begin - base_), microseconds_text(event.duration),
                            args));
    }
  }

  const EnergyFinder* energy_;
  const Profile* profile_;
  const PutBytes* put_;
  std::int64_t base_ = 0;
  std::string out_;
  bool any_ = false, failed_ = false;
};

}  // namespace

Result<void> write_chrome_trace(const EnergyFinder& energy, const PutBytes& put) { return ChromeWriter(energy, put).write(); }

}  // namespace joulery
