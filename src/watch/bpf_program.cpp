#include "watch/bpf_program.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <span>
#include <string>
#include <utility>

#include "core/time.h"

namespace joulery {

namespace shipped {
std::span<const unsigned char> oncpu_program();
}

namespace {

constexpr const char* btf_of_kernel = "/sys/kernel/btf/vmlinux";
constexpr const char* remedy_rights = "run it as root, or with the capabilities CAP_BPF and CAP_PERFMON";

// What libbpf says goes into our error instead of the terminal. Its printer is one for the process: ours while we load, then
// whichever was there before.
thread_local std::string last_warning;

__attribute__((format(printf, 2, 0))) int keep_warning(int level, const char* format, va_list arguments) {
  if (level > 0) return 0;  // 0: warning
  char line[256];
  std::vsnprintf(line, sizeof line, format, arguments);
  line[std::strcspn(line, "\n")] = 0;
  if (last_warning.empty()) last_warning = line;
  return 0;
}

class Quiet {
 public:
  explicit Quiet(const BpfApi& api) : api_(api), before_(api.set_print(keep_warning)) { last_warning.clear(); }
  Quiet(const Quiet&) = delete;
  Quiet& operator=(const Quiet&) = delete;
  ~Quiet() { api_.set_print(before_); }

 private:
  const BpfApi& api_;
  BpfApi::Print before_;
};

std::unexpected<Error> failed(int number, const char* what) {
  if (number == EPERM || number == EACCES) return fail(ErrorCode::permission, what, "eBPF: not permitted", remedy_rights);
  const std::string where = last_warning.empty() ? std::string("eBPF: ") + std::strerror(number) : last_warning;
  return fail(ErrorCode::unsupported, what, where, "Linux 5.11 or later, built with BTF, is needed");
}

}  // namespace

BpfProgram::BpfProgram(BpfProgram&& other) noexcept
    : api_(other.api_),
      object_(std::exchange(other.object_, nullptr)),
      links_(std::exchange(other.links_, {})),
      processes_(other.processes_),
      cpus_(other.cpus_),
      cgroups_(other.cgroups_),
      settle_(other.settle_) {}

BpfProgram::~BpfProgram() {
  for (bpf_link* link : links_) api_->destroy_link(link);
  if (object_) api_->close(object_);
}

Result<BpfProgram> BpfProgram::load(const BpfAccountOptions& options) {
  const auto bytes = shipped::oncpu_program();
  if (bytes.empty()) return fail(ErrorCode::unsupported, "this build holds no eBPF program", {}, "install clang and build again");
  const BpfApi* api = bpf_api();
  if (!api) return fail(ErrorCode::unsupported, "libbpf.so.1 cannot be loaded", {}, "apt-get install libbpf1");
  if (access(btf_of_kernel, R_OK) != 0)
    return fail(ErrorCode::unsupported, "the kernel does not describe itself (BTF)", btf_of_kernel,
                "use a kernel with CONFIG_DEBUG_INFO_BTF");
  const Quiet quiet(*api);
  BpfOpenOptions open;
  open.object_name = "joulery";
  errno = 0;
  bpf_object* object = api->open_mem(bytes.data(), bytes.size(), &open);
  if (!object) return failed(errno, "cannot read the eBPF program");
  BpfProgram program(*api, object);
  if (auto ready = program.prepare(options); !ready) return std::unexpected(std::move(ready.error()));
  if (auto attached = program.attach(); !attached) return std::unexpected(std::move(attached.error()));
  return program;
}

Result<void> BpfProgram::prepare(const BpfAccountOptions& options) {
  const oncpu_hierarchy hierarchy = options.controller == CpuController::unified   ? oncpu_by_unified
                                    : options.controller == CpuController::cpuacct ? oncpu_by_cpuacct
                                                                                   : oncpu_by_cpu;
  const oncpu_settings settings{static_cast<unsigned long long>(boot_now().ns), hierarchy, 0};
  bpf_map* constants = api_->find_map(object_, ".rodata");
  bpf_map* processes = api_->find_map(object_, "processes");
  bpf_map* cpus = api_->find_map(object_, "cpus");
  bpf_map* cgroups = api_->find_map(object_, "cgroups");
  bpf_program* settle = api_->find_program(object_, "settle");
  if (!constants || !processes || !cpus || !cgroups || !settle || api_->set_initial_value(constants, &settings, sizeof settings) != 0 ||
      api_->set_max_entries(processes, options.rows) != 0)
    return fail(ErrorCode::internal, "the eBPF program is not the one that belongs to this build");
  if (const int error = api_->load(object_); error != 0) return failed(-error, "cannot load the eBPF program");
  processes_ = api_->map_fd(processes);
  cpus_ = api_->map_fd(cpus);
  cgroups_ = api_->map_fd(cgroups);
  settle_ = api_->program_fd(settle);
  return {};
}

Result<void> BpfProgram::attach() {
  for (const char* name : {"on_mkdir", "on_exit", "on_rename", "on_switch"}) {
    bpf_program* program = api_->find_program(object_, name);
    errno = 0;
    bpf_link* link = program ? api_->attach(program) : nullptr;
    if (!link) return failed(errno, "cannot attach the eBPF program");
    links_.push_back(link);
  }
  return {};
}

Result<std::vector<oncpu_cpu>> BpfProgram::read_cpus() const {
  const int count = api_->possible_cpus();
  std::vector<oncpu_cpu> cpus(count > 0 ? static_cast<std::size_t>(count) : 0);
  const std::uint32_t zero = 0;
  if (cpus.empty() || api_->lookup(cpus_, &zero, cpus.data()) != 0) return failed(errno, "cannot read what the CPUs run");
  return cpus;
}

bool BpfProgram::settle(std::uint32_t cpu) const {
  BpfTestRun run;
  run.flags = bpf_run_on_cpu;
  run.cpu = cpu;
  return api_->test_run(settle_, &run) == 0;
}

Result<void> BpfProgram::read_rows(std::vector<Row>& rows) {
  constexpr std::uint32_t at_once = 1024;  // far more than share a bucket
  keys_.resize(at_once);
  values_.resize(at_once);
  rows.clear();
  std::uint32_t place = 0, next = 0;
  bool first = true;
  while (true) {
    std::uint32_t count = at_once;
    const int error = api_->lookup_batch(processes_, first ? nullptr : &place, &next, keys_.data(), values_.data(), &count, nullptr);
    if (error != 0 && error != -ENOENT) return failed(-error, "cannot read who used the CPUs");
    for (std::uint32_t i = 0; i < count; ++i) rows.push_back({keys_[i], values_[i]});
    if (error != 0) return {};  // that was the end
    place = next;
    first = false;
  }
}

std::vector<CgroupName> BpfProgram::take_cgroups() {
  constexpr std::uint32_t at_once = 256;
  std::vector<std::uint64_t> ids(at_once);
  paths_.resize(at_once);
  std::vector<CgroupName> names;
  std::uint32_t place = 0, next = 0;
  for (bool first = true;; first = false, place = next) {
    std::uint32_t count = at_once;
    const int error = api_->take_batch(cgroups_, first ? nullptr : &place, &next, ids.data(), paths_.data(), &count, nullptr);
    if (error != 0 && error != -ENOENT) return names;
    for (std::uint32_t i = 0; i < count; ++i)
      names.push_back({ids[i], std::string(paths_[i].data(), strnlen(paths_[i].data(), oncpu_path_size))});
    if (error != 0) return names;
  }
}

std::optional<oncpu_value> BpfProgram::take(const oncpu_key& key) const {
  oncpu_value value{};
  if (api_->take(processes_, &key, &value) == 0) return value;
  if (api_->lookup(processes_, &key, &value) != 0) return std::nullopt;  // before Linux 5.14 the two go one after the other
  api_->remove(processes_, &key);
  return value;
}

}  // namespace joulery
