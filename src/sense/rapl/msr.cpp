#include "sense/rapl/msr.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <span>
#include <string_view>
#include <utility>

#include "sense/host/proc_files.h"
#include "sense/live_file.h"
#include "sense/obstacles.h"
#include "sense/rapl/rapl_cpus.h"
#include "sense/rapl/rapl_domain.h"
#include "sense/rapl/rapl_units.h"
#include "sense/surroundings.h"

namespace joulery {
namespace {

constexpr std::string_view kind = "rapl.msr";
constexpr std::uint64_t register_range = 0xFFFFFFFF;

constexpr Advice no_device{"the kernel shows no processor registers: its driver is not loaded (/dev/cpu/0/msr)", "sudo modprobe msr"};
constexpr Advice no_permission{"/dev/cpu/*/msr opens for root with CAP_SYS_RAWIO alone, and under kernel lockdown for nobody",
                               "sudo joulery run -- CMD  # rapl.powercap and rapl.perf need less"};
constexpr Advice other_processor{"this processor has no RAPL registers that are known", ""};
constexpr Advice no_registers{"the processor refuses its RAPL registers, as virtual machines do", ""};

// Intel: Software Developer's Manual, volume 4. AMD: Processor Programming Reference of family 17h.
struct Register {
  std::string_view domain;  // "": the package itself
  std::uint32_t number;
};
constexpr Register intel_registers[] = {{"", 0x611}, {"core", 0x639}, {"uncore", 0x641}, {"dram", 0x619}, {"psys", 0x64D}};
constexpr Register amd_registers[] = {{"", 0xC001029B}};
constexpr std::uint32_t intel_unit = 0x606, amd_unit = 0xC0010299, amd_core = 0xC001029A;

bool is_amd(const CpuInfo& cpu) { return (cpu.vendor == "AuthenticAMD" || cpu.vendor == "HygonGenuine") && cpu.family >= 0x17; }
bool is_intel(const CpuInfo& cpu) { return cpu.vendor == "GenuineIntel" && cpu.family == 6; }

// The registers of one CPU.
class MsrFile {
 public:
  explicit MsrFile(std::string path) : path_(std::move(path)) { open(); }
  MsrFile(MsrFile&& other) noexcept : path_(std::move(other.path_)), fd_(std::exchange(other.fd_, -1)), error_(other.error_) {}
  MsrFile& operator=(MsrFile&&) = delete;
  ~MsrFile() {
    if (fd_ >= 0) ::close(fd_);
  }

  int error() const { return error_; }  // of opening; 0: it is open
  std::expected<std::uint64_t, MissingReason> read(std::uint32_t number) const {
    if (fd_ < 0) return std::unexpected(reason_from_errno(error_));
    std::uint64_t value = 0;
    const ssize_t size = ::pread(fd_, &value, sizeof value, number);
    if (size == sizeof value) return value;
    return std::unexpected(size < 0 ? reason_from_errno(errno) : MissingReason::gone);
  }

 private:
  void open() {
    fd_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
    error_ = fd_ < 0 ? errno : 0;
  }
  std::string path_;
  int fd_ = -1, error_ = 0;
};

class MsrMeter final : public Meter {
 public:
  std::size_t add(MsrFile file) {
    files_.push_back(std::move(file));
    return files_.size() - 1;
  }
  void add(Channel channel, std::size_t file, std::uint32_t number) {
    channels_.push_back(std::move(channel));
    counters_.push_back({file, number});
  }
  std::span<const Channel> channels() const override { return channels_; }
  void read(Sink& sink) override {
    for (const Counter& counter : counters_) {
      const auto value = files_[counter.file].read(counter.number);
      if (value)
        sink.value(static_cast<std::int64_t>(*value & register_range));
      else
        sink.missing(value.error());
    }
  }

 private:
  struct Counter {
    std::size_t file;
    std::uint32_t number;
  };
  std::vector<MsrFile> files_;
  std::vector<Channel> channels_;
  std::vector<Counter> counters_;
};

double unit_of(const CpuInfo& cpu, std::string_view domain, unsigned esu) {
  if (domain == "dram") return rapl_dram_unit(cpu.vendor, cpu.family, cpu.model, esu);
  if (domain == "psys") return rapl_psys_unit(cpu.vendor, cpu.family, cpu.model, esu);
  return rapl_package_unit(cpu.vendor, cpu.family, cpu.model, esu);
}

// The energy status unit of the unit register, bits 12:8.
unsigned esu_of(std::uint64_t units) { return static_cast<unsigned>(units >> 8 & 0x1f); }

MsrFile open_cpu(const Machine& machine, int cpu) { return MsrFile(machine.path("/dev/cpu/" + std::to_string(cpu) + "/msr")); }

Channel channel_of(const CpuInfo& cpu, std::string_view domain, const std::string& package, unsigned esu) {
  Channel channel = domain.empty()     ? rapl_channel(package, "")
                    : domain == "psys" ? rapl_channel("psys", "")
                                       : rapl_channel(domain, package);
  channel.unit = unit_of(cpu, domain, esu);
  channel.range = register_range;
  return channel;
}

// A domain that the processor does not have is refused or reads 0, as the kernel's own drivers judge it.
void add_package(const Machine& machine, const CpuInfo& cpu, const RaplCpu& place, bool first, MsrMeter& meter, Discovery& discovery) {
  MsrFile file = open_cpu(machine, place.cpu);
  const bool amd = is_amd(cpu);
  const auto units = file.read(amd ? amd_unit : intel_unit);
  if (!units) return discovery.findings.push_back(blocked_finding(kind, place.package, no_registers, describe(units.error())));
  const std::size_t index = meter.add(std::move(file));
  for (const Register& counter : amd ? std::span<const Register>(amd_registers) : std::span<const Register>(intel_registers)) {
    if (counter.domain == "psys" && !first) continue;  // one for the whole platform
    MsrFile again = open_cpu(machine, place.cpu);
    const auto value = again.read(counter.number);
    if (!value || (*value & register_range) == 0) continue;
    Channel channel = channel_of(cpu, counter.domain, place.package, esu_of(*units));
    discovery.findings.push_back(readable_finding(kind, channel.name));
    meter.add(std::move(channel), index, counter.number);
  }
}

void add_core(const Machine& machine, const CpuInfo& cpu, const RaplCpu& place, MsrMeter& meter) {
  MsrFile file = open_cpu(machine, place.cpu);
  const auto units = file.read(amd_unit);
  if (!units || !file.read(amd_core)) return;
  Channel channel = channel_of(cpu, "core", place.package, esu_of(*units));
  channel.component = Component(channel.component.path() + "/cpu-" + std::to_string(place.cpu));
  channel.name += "/cpu-" + std::to_string(place.cpu);
  meter.add(std::move(channel), meter.add(std::move(file)), amd_core);
}

void add_device(std::string name, std::unique_ptr<MsrMeter> meter, Discovery& discovery) {
  if (!meter->channels().empty()) discovery.devices.push_back({std::string(kind), std::move(name), false, std::move(meter)});
}

// Why the first CPU's registers cannot be opened at all; nothing where they can.
std::optional<Finding> obstacle(const Machine& machine, const CpuInfo& cpu) {
  const Surroundings around = read_surroundings(machine);
  const int error = open_cpu(machine, 0).error();
  if (error == 0 && (is_intel(cpu) || is_amd(cpu))) return std::nullopt;
  if (error == 0) return absent_finding(kind, "", other_processor, cpu.vendor);
  if (error == EACCES || error == EPERM) return blocked_finding(kind, "", no_permission);
  if (around.virtual_machine) return absent_finding(kind, "", Obstacle::no_rapl_in_vm, around.hypervisor);
  return absent_finding(kind, "", no_device);
}

}  // namespace

Discovery probe_msr(const Machine& machine) {
  Discovery discovery;
  const CpuInfo cpu = parse_cpuinfo(machine.read_or_empty("/proc/cpuinfo", 4096));
  if (auto finding = obstacle(machine, cpu)) return {{}, {*std::move(finding)}};
  auto packages = std::make_unique<MsrMeter>(), cores = std::make_unique<MsrMeter>();
  bool first = true;
  for (const RaplCpu& place : one_cpu_per_package(machine, is_intel(cpu))) {
    add_package(machine, cpu, place, first, *packages, discovery);
    first = false;
  }
  if (is_amd(cpu))
    for (const RaplCpu& place : one_cpu_per_core(machine)) add_core(machine, cpu, place, *cores);
  if (!cores->channels().empty()) discovery.findings.push_back(readable_finding(kind, "cores"));
  if (discovery.findings.empty()) discovery.findings.push_back(blocked_finding(kind, "", no_registers));
  add_device("packages", std::move(packages), discovery);
  add_device("cores", std::move(cores), discovery);
  return discovery;
}

}  // namespace joulery
