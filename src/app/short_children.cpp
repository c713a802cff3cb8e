#include "app/short_children.h"

#include <unistd.h>

#include <chrono>
#include <system_error>
#include <utility>

#include "watch/open_cpu_account.h"

namespace joulery {
namespace {

constexpr std::size_t most_names = 12;
constexpr Duration least_unseen = milliseconds(100);  // twice what it costs to load the program
constexpr double least_part = 0.05;                   // of the tree's CPU time

std::unique_ptr<CpuAccount> load() {
  auto opened = open_cpu_account("", CpuAccountChoice::ebpf);
  return opened ? std::move(opened->account) : nullptr;  // not allowed here: they stay one line without names
}

std::int64_t ticks_since_boot() { return clock_ns(CLOCK_BOOTTIME) / (1'000'000'000 / ::sysconf(_SC_CLK_TCK)); }

}  // namespace

void ShortChildren::look(ProcessTree& tree) {
  if (account_) return read(tree);
  if (loading_.valid()) return take_account();
  const Duration unseen = tree.unseen_so_far();
  if (asked_ || unseen < least_unseen || to_seconds(unseen) < least_part * to_seconds(unseen + tree.seen_so_far())) return;
  asked_ = true;
  try {
    loading_ = std::async(std::launch::async, load);
  } catch (const std::system_error&) {
    loading_ = {};  // no thread to be had: the account by /proc stays
  }
}

void ShortChildren::take_account() {
  if (loading_.wait_for(std::chrono::seconds(0)) != std::future_status::ready) return;
  account_ = loading_.get();
  if (!account_) return;
  children_.emplace(command_, ticks_since_boot());
  (void)account_->read();  // what came before: the tree's scans tell of it
}

void ShortChildren::read(ProcessTree& tree) {
  if (const auto uses = account_->read()) children_->take(*uses, tree);
}

void ShortChildren::finish(ProcessTree& tree) {
  if (!account_) return;
  read(tree);
  read(tree);  // the last moments of those that the first told as ended
  children_->finish(tree);
}

std::vector<ShortLivedSum> ShortChildren::by_name() const {
  return children_ ? children_->by_name(most_names) : std::vector<ShortLivedSum>{};
}

}  // namespace joulery
