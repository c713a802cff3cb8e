#include "watch/stacks/stack_sampler.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <thread>
#include <unordered_map>

#include "watch/stacks/perf_ring.h"

namespace joulery {
namespace {

constexpr std::int32_t this_thread = 0;           // as perf_event_open calls it
constexpr unsigned ring_log_pages = 7;            // 512 KiB per CPU: what an unprivileged user may lock
constexpr std::uint32_t stack_bytes = 16 * 1024;  // of the user's stack, copied with each sample: some 40 Python frames
constexpr auto look_every = std::chrono::milliseconds(20);
constexpr Duration maps_stay = milliseconds(300);

// Reads values off the front of a record; past its end everything is 0.
class RecordReader {
 public:
  explicit RecordReader(std::span<const unsigned char> bytes) : bytes_(bytes) {}
  template <class T>
  T take() {
    T value{};
    if (bytes_.size() >= sizeof value) {
      std::memcpy(&value, bytes_.data(), sizeof value);
      bytes_ = bytes_.subspan(sizeof value);
    } else {
      bytes_ = {};
    }
    return value;
  }
  std::span<const unsigned char> take_bytes(std::uint64_t count) {
    const auto taken = bytes_.first(std::min<std::uint64_t>(count, bytes_.size()));
    bytes_ = bytes_.subspan(taken.size());
    return taken;
  }
  std::string text() const {
    return {reinterpret_cast<const char*>(bytes_.data()), ::strnlen(reinterpret_cast<const char*>(bytes_.data()), bytes_.size())};
  }
  std::size_t left() const { return bytes_.size(); }

 private:
  std::span<const unsigned char> bytes_;
};

// The executable mappings of a process as /proc tells them now: those of files and those of code made at run time.
struct CodeOfProcess {
  std::vector<CodeMapping> files;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> made;
  MonoTime read;
};

CodeOfProcess read_code(std::int32_t pid) {
  CodeOfProcess code{{}, {}, mono_now()};
  std::ifstream maps(fmt::format("/proc/{}/maps", pid));
  for (std::string line; std::getline(maps, line);) {
    unsigned long begin = 0, end = 0, offset = 0;
    char rights[8] = {};
    int path = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx %7s %lx %*s %*s %n", &begin, &end, rights, &offset, &path) < 4 || rights[2] != 'x') continue;
    const std::string name = path > 0 && static_cast<std::size_t>(path) < line.size() ? line.substr(static_cast<std::size_t>(path)) : "";
    if (name.starts_with('/') && !name.starts_with("//anon") && !name.starts_with("/memfd:"))
      code.files.push_back({pid, begin, end, offset, name});
    else if (!name.starts_with('['))
      code.made.emplace_back(begin, end);
  }
  return code;
}

perf_event_attr attributes(int per_second, bool kernel_too) {
  perf_event_attr attr{};
  attr.size = sizeof attr;
  attr.type = PERF_TYPE_SOFTWARE;
  attr.config = PERF_COUNT_SW_TASK_CLOCK;
  attr.sample_period = 1'000'000'000ULL / static_cast<unsigned>(per_second);
  attr.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_STACK_USER | PERF_SAMPLE_REGS_USER;
  attr.sample_stack_user = stack_bytes;
  attr.sample_regs_user = 1;  // one register: with none, kernels refuse to copy the stack of some threads
  // Opened on our own thread, which never becomes another program: only what it starts is sampled, from its exec on.
  attr.inherit = attr.disabled = attr.enable_on_exec = 1;
  attr.mmap = attr.mmap2 = 1;
  attr.task = 1;
  attr.comm = attr.comm_exec = 1;
  attr.use_clockid = 1;
  attr.clockid = CLOCK_MONOTONIC;
  attr.exclude_kernel = kernel_too ? 0 : 1;
  attr.exclude_hv = 1;
  attr.wakeup_watermark = 64 * 1024;
  attr.watermark = 1;
  return attr;
}

struct StackHash {
  std::size_t operator()(const RawStack& stack) const {
    std::uint64_t hash = 14695981039346656037ULL ^ static_cast<std::uint64_t>(stack.pid);
    for (const auto* part : {&stack.kernel, &stack.user, &stack.made_code})
      for (const std::uint64_t address : *part) hash = (hash ^ address) * 1099511628211ULL;
    return hash;
  }
};

class PerfStackSampler final : public StackSampler {
 public:
  PerfStackSampler(std::vector<PerfRing> rings, int per_second, bool kernel_too) : rings_(std::move(rings)) {
    run_.period = nanoseconds(1'000'000'000 / per_second);
    run_.kernel_too = kernel_too;
    reader_ = std::jthread([this](const std::stop_token& stop) { read(stop); });
  }
  ~PerfStackSampler() override = default;

  SampledRun finish() override {
    reader_.request_stop();
    if (reader_.joinable()) reader_.join();
    for (const PerfRing& ring : rings_) ::ioctl(ring.fd(), PERF_EVENT_IOC_DISABLE, 0);
    drain();
    std::ranges::stable_sort(run_.samples, {}, &StackSample::time);
    return std::move(run_);
  }

 private:
  void read(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      drain();
      std::this_thread::sleep_for(look_every);
    }
  }

  void drain() {
    for (PerfRing& ring : rings_)
      ring.drain([this](const perf_event_header& header, std::span<const unsigned char> body) { take(header, RecordReader(body)); });
  }

  void take(const perf_event_header& header, RecordReader body) {
    switch (header.type) {
      case PERF_RECORD_SAMPLE: take_sample(body); break;
      case PERF_RECORD_MMAP2: take_mapping(body); break;
      case PERF_RECORD_FORK: take_fork(body); break;
      case PERF_RECORD_COMM: take_name(body, (header.misc & PERF_RECORD_MISC_COMM_EXEC) != 0); break;
      case PERF_RECORD_LOST:
        body.take<std::uint64_t>();
        run_.lost += static_cast<std::int64_t>(body.take<std::uint64_t>());
        break;
      case PERF_RECORD_LOST_SAMPLES: run_.lost += static_cast<std::int64_t>(body.take<std::uint64_t>()); break;
      default: break;
    }
  }

  void take_sample(RecordReader body) {
    StackSample sample;
    RawStack stack;
    stack.pid = sample.pid = body.take<std::int32_t>();
    sample.tid = body.take<std::int32_t>();
    sample.time = {static_cast<std::int64_t>(body.take<std::uint64_t>())};
    std::vector<std::uint64_t>* part = &stack.user;
    for (std::uint64_t left = body.take<std::uint64_t>(); left > 0 && body.left() >= sizeof(std::uint64_t); --left) {
      const auto address = body.take<std::uint64_t>();
      if (address == static_cast<std::uint64_t>(PERF_CONTEXT_KERNEL))
        part = &stack.kernel;
      else if (address == static_cast<std::uint64_t>(PERF_CONTEXT_USER))
        part = &stack.user;
      else if (address < static_cast<std::uint64_t>(PERF_CONTEXT_MAX))
        part->push_back(address);
    }
    if (body.take<std::uint64_t>() != PERF_SAMPLE_REGS_ABI_NONE) body.take<std::uint64_t>();
    const auto size = body.take<std::uint64_t>();
    const auto copied = body.take_bytes(size);
    const auto used = size > 0 ? body.take<std::uint64_t>() : 0;
    find_made_code(stack, copied.first(std::min<std::size_t>(used, copied.size())));
    sample.stack = index_of(std::move(stack));
    run_.samples.push_back(sample);
  }

  // Return addresses into code made at run time. The stack grows downwards, so the first word is the innermost.
  void find_made_code(RawStack& stack, std::span<const unsigned char> bytes) {
    const CodeOfProcess& code = code_of(stack.pid);
    if (code.made.empty()) return;
    for (std::size_t at = 0; at + sizeof(std::uint64_t) <= bytes.size(); at += sizeof(std::uint64_t)) {
      std::uint64_t word = 0;
      std::memcpy(&word, bytes.data() + at, sizeof word);
      const bool inside = std::ranges::any_of(code.made, [word](const auto& range) { return word >= range.first && word < range.second; });
      if (inside) stack.made_code.push_back(word);
    }
  }

  const CodeOfProcess& code_of(std::int32_t pid) {
    const auto found = code_.find(pid);
    if (found != code_.end() && mono_now() - found->second.read < maps_stay) return found->second;
    CodeOfProcess now = read_code(pid);
    if (now.made.empty() && now.files.empty() && found != code_.end()) {  // it has ended: what was known is all there is
      found->second.read = now.read;
      return found->second;
    }
    return code_.insert_or_assign(pid, std::move(now)).first->second;
  }

  std::uint32_t index_of(RawStack stack) {
    const auto [found, fresh] = index_.try_emplace(std::move(stack), static_cast<std::uint32_t>(run_.stacks.size()));
    if (fresh) run_.stacks.push_back(found->first);
    return found->second;
  }

  void take_mapping(RecordReader body) {
    CodeMapping mapping;
    mapping.pid = body.take<std::int32_t>();
    body.take<std::int32_t>();
    mapping.begin = body.take<std::uint64_t>();
    mapping.end = mapping.begin + body.take<std::uint64_t>();
    mapping.offset = body.take<std::uint64_t>();
    body.take_bytes(4 + 4 + 8 + 8 + 4 + 4);  // major, minor, inode, generation, protection, flags
    mapping.path = body.text();
    run_.mappings.push_back(std::move(mapping));
  }

  // A new process has its parent's mappings; a new thread is no process.
  void take_fork(RecordReader body) {
    const auto pid = body.take<std::int32_t>(), parent = body.take<std::int32_t>();
    if (pid == parent) return;
    run_.names.try_emplace(pid, run_.names[parent]);
    const std::size_t count = run_.mappings.size();
    for (std::size_t i = 0; i < count; ++i)
      if (run_.mappings[i].pid == parent) {
        CodeMapping copy = run_.mappings[i];
        copy.pid = pid;
        run_.mappings.push_back(std::move(copy));
      }
  }

  // exec: the code from before is gone; that of samples from before is known by its addresses all the same.
  void take_name(RecordReader body, bool exec) {
    const auto pid = body.take<std::int32_t>(), tid = body.take<std::int32_t>();
    if (exec) code_.erase(pid);
    if (pid == tid) run_.names[pid] = body.text();
  }

  std::vector<PerfRing> rings_;
  SampledRun run_;
  std::map<std::int32_t, CodeOfProcess> code_;
  std::unordered_map<RawStack, std::uint32_t, StackHash> index_;
  std::jthread reader_;
};

Result<std::vector<PerfRing>> open_rings(int per_second, bool kernel_too) {
  std::vector<PerfRing> rings;
  const long cpus = std::max(1L, ::sysconf(_SC_NPROCESSORS_CONF));
  for (int cpu = 0; cpu < cpus; ++cpu) {
    auto ring = PerfRing::open(attributes(per_second, kernel_too), this_thread, cpu, ring_log_pages);
    if (ring)
      rings.push_back(*std::move(ring));
    else if (ring.error().code == ErrorCode::permission || cpu + 1 == cpus) {
      if (rings.empty() || ring.error().code == ErrorCode::permission) return std::unexpected(ring.error());
    }
  }
  return rings;
}

}  // namespace

std::string sampling_remedy(int paranoid) {
  if (paranoid > 2)
    return fmt::format(
        "kernel.perf_event_paranoid is {}: as root, sysctl -w kernel.perf_event_paranoid=2 (1 to see the kernel's functions too)",
        paranoid);
  return "a container's seccomp profile may forbid perf_event_open: allow it, or add CAP_PERFMON";
}

Result<std::unique_ptr<StackSampler>> StackSampler::start(int per_second) {
  bool kernel_too = true;
  auto rings = open_rings(per_second, kernel_too);
  if (!rings && rings.error().code == ErrorCode::permission) rings = open_rings(per_second, kernel_too = false);
  if (!rings) {
    Error error = rings.error();
    error.what = "cannot sample stacks: " + error.what;
    int paranoid = -1;
    std::ifstream("/proc/sys/kernel/perf_event_paranoid") >> paranoid;
    if (error.code == ErrorCode::permission) error.hint = sampling_remedy(paranoid);
    return std::unexpected(std::move(error));
  }
  return std::make_unique<PerfStackSampler>(*std::move(rings), per_second, kernel_too);
}

}  // namespace joulery
