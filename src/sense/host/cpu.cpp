#include "sense/host/cpu.h"

#include <unistd.h>

#include <array>
#include <utility>

#include "sense/host/proc_files.h"
#include "sense/live_file.h"
#include "sense/obstacles.h"

namespace joulery {
namespace {

constexpr std::string_view stat_path = "/proc/stat", meminfo_path = "/proc/meminfo";
constexpr std::size_t first_line = 512, whole_meminfo = 8192;

// Ticks of the kernel's user interface. A recorded tree does not say what they were there; 100 a second is what every
// Linux of the last twenty years shows, whatever its HZ.
double seconds_per_tick() {
  const long per_second = ::sysconf(_SC_CLK_TCK);
  return 1.0 / static_cast<double>(per_second > 0 ? per_second : 100);
}

Channel cpu_channel(std::string name, Measurand measurand) {
  Channel channel;
  channel.component = Component("node/cpu");
  channel.name = std::move(name);
  channel.measurand = measurand;
  channel.unit = seconds_per_tick();
  channel.update_period = seconds(channel.unit);
  return channel;
}

Channel memory_channel(std::string name, Behaviour behaviour) {
  Channel channel;
  channel.component = Component("node/dram");
  channel.name = std::move(name);
  channel.measurand = Measurand::memory;
  channel.behaviour = behaviour;
  return channel;
}

// Reports the two numbers that `parse` finds in the file, or one reason for both.
template <class Parse>
void report_pair(Sink& sink, LiveFile& file, std::span<char> buffer, Parse parse) {
  const auto text = file.read(buffer, sink.last());
  const auto pair = text ? parse(*text) : std::nullopt;
  if (pair) {
    sink.value(pair->first);
    sink.value(pair->second);
    return;
  }
  const MissingReason reason = text ? MissingReason::rubbish : text.error();
  sink.missing(reason);
  sink.missing(reason);
}

class CpuMeter final : public Meter {
 public:
  explicit CpuMeter(std::string path)
      : file_(std::move(path)), channels_{cpu_channel("busy", Measurand::busy_time), cpu_channel("total", Measurand::cpu_time)} {}
  std::span<const Channel> channels() const override { return channels_; }
  void read(Sink& sink) override {
    std::array<char, first_line> buffer;
    report_pair(sink, file_, buffer, [](std::string_view text) -> std::optional<std::pair<std::int64_t, std::int64_t>> {
      const auto times = parse_system_stat(text);
      if (!times) return std::nullopt;
      return std::pair(times->busy, times->total);
    });
  }

 private:
  LiveFile file_;
  std::array<Channel, 2> channels_;
};

class MemoryMeter final : public Meter {
 public:
  explicit MemoryMeter(std::string path)
      : file_(std::move(path)), channels_{memory_channel("used", Behaviour::gauge), memory_channel("total", Behaviour::constant)} {}
  std::span<const Channel> channels() const override { return channels_; }
  void read(Sink& sink) override {
    std::array<char, whole_meminfo> buffer;
    report_pair(sink, file_, buffer, [](std::string_view text) -> std::optional<std::pair<std::int64_t, std::int64_t>> {
      const auto use = parse_meminfo(text);
      if (!use || !use->used) return std::nullopt;
      return std::pair(*use->used, use->total);
    });
  }

 private:
  LiveFile file_;
  std::array<Channel, 2> channels_;
};

template <class Meter, class Parse>
Discovery probe_file(const Machine& machine, std::string_view kind, std::string_view path, Duration least_interval, Parse parse) {
  Discovery discovery;
  const Result<std::string> text = machine.read(path);
  if (text && parse(*text)) {
    discovery.devices.push_back({std::string(kind), std::string(kind), false, std::make_unique<Meter>(machine.path(path)), least_interval});
    discovery.findings.push_back(readable_finding(kind, ""));
  } else {
    const std::string detail = text ? machine.path(path) + ": not in the form that Linux writes" : text.error().line();
    discovery.findings.push_back(absent_finding(kind, "", Obstacle::proc_unreadable, detail));
  }
  return discovery;
}

}  // namespace

// Ten ticks of 10 ms: in less time their coarseness outweighs what they tell.
Discovery probe_cpu(const Machine& machine) {
  return probe_file<CpuMeter>(machine, "cpu", stat_path, milliseconds(100), parse_system_stat);
}

Discovery probe_memory(const Machine& machine) {
  return probe_file<MemoryMeter>(machine, "memory", meminfo_path, seconds(1), parse_meminfo);
}

}  // namespace joulery
