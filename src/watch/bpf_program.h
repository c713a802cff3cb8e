// The loaded and attached eBPF program of bpf/oncpu.bpf.c with its maps; watch/bpf_account makes sense of what they hold.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/result.h"
#include "watch/bpf_account.h"
#include "watch/bpf_api.h"
#include "watch/oncpu_layout.h"

namespace joulery {

class BpfProgram {
 public:
  // Errors: as open_bpf_account().
  static Result<BpfProgram> load(const BpfAccountOptions& options);
  BpfProgram(BpfProgram&& other) noexcept;
  BpfProgram& operator=(BpfProgram&&) = delete;
  BpfProgram(const BpfProgram&) = delete;
  ~BpfProgram();

  struct Row {
    oncpu_key key;
    oncpu_value value;
  };
  Result<std::vector<oncpu_cpu>> read_cpus() const;
  // Bills what runs on that CPU up to now. False where the CPU is not online.
  bool settle(std::uint32_t cpu) const;
  // All rows, into `rows`.
  Result<void> read_rows(std::vector<Row>& rows);
  // Cgroups that were made since the last call, as far as there was room for their names (1024).
  std::vector<CgroupName> take_cgroups();
  // Removes a row and gives its last state; nothing where there is none.
  std::optional<oncpu_value> take(const oncpu_key& key) const;

 private:
  BpfProgram(const BpfApi& api, bpf_object* object) : api_(&api), object_(object) {}
  Result<void> prepare(const BpfAccountOptions& options);
  Result<void> attach();

  const BpfApi* api_;
  bpf_object* object_;
  std::vector<bpf_link*> links_;
  int processes_ = -1, cpus_ = -1, cgroups_ = -1, settle_ = -1;
  // Room for what the kernel gives at once, kept from look to look.
  std::vector<oncpu_key> keys_;
  std::vector<oncpu_value> values_;
  std::vector<std::array<char, oncpu_path_size>> paths_;
};

}  // namespace joulery
