#include "watch/resident_memory.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <charconv>
#include <utility>

#include "watch/proc_folder.h"
#include "watch/proc_stat.h"

namespace joulery {
namespace {

constexpr unsigned looks_of_runners = 10, looks_of_sleepers = 200, looks_between_lists = 60;
constexpr std::size_t most_at_a_look = 3000;

}  // namespace

bool ResidentMemory::identify(std::int32_t pid, Holder& holder) const {
  const std::string folder = fmt::format("{}/proc/{}", root_, pid);
  const auto stat = read_proc_stat(folder + "/stat");
  struct stat about{};
  if (!stat || ::stat(folder.c_str(), &about) != 0) return false;
  const ProcessId id{pid, stat->start_ticks};
  holder = {id, stat->parent, about.st_uid, stat->name, holder.bytes, holder.ran, holder.introduced && holder.id == id};
  return true;
}

bool ResidentMemory::read(Holder& holder) const {
  static const std::int64_t page = ::sysconf(_SC_PAGESIZE);
  const auto text = read_small_file(fmt::format("{}/proc/{}/statm", root_, holder.id.pid));
  if (!text) return false;
  const auto space = text->find(' ');
  if (space == std::string::npos) return false;
  std::int64_t pages = 0;
  const char* begin = text->data() + space + 1;
  if (std::from_chars(begin, text->data() + text->size(), pages).ec != std::errc{} || pages < 0) return false;
  holder.bytes = pages * page;
  holder.ran = false;
  return true;
}

bool ResidentMemory::read_again(Holder& holder, bool identify_too) const {
  return (!identify_too || identify(holder.id.pid, holder)) && read(holder);
}

void ResidentMemory::ran(const CpuUse& use) {
  const auto found = holders_.find(use.id.pid);
  const bool known = found != holders_.end() && found->second.id == use.id;
  if (use.ended) {
    if (known) holders_.erase(found);
    return;
  }
  if (!known) newest_.push_back(use.id);
  Holder& holder = known ? found->second : holders_[use.id.pid];
  const std::int64_t bytes = known ? holder.bytes : 0;
  holder = {use.id, use.parent, use.user, use.name, bytes, true, known && holder.introduced};
}

// All that live, and who of them is not known.
void ResidentMemory::list() {
  std::unordered_map<std::int32_t, Holder> living;
  listed_.clear();
  for (const std::int32_t pid : numbers_in(root_ + "/proc")) {
    if (auto known = holders_.extract(pid))
      living.insert(std::move(known));
    else
      listed_.push_back(pid);
  }
  holders_ = std::move(living);
}

void ResidentMemory::read_listed() {
  for (std::size_t read_now = 0; read_now < most_at_a_look && !listed_.empty(); ++read_now) {
    Holder holder;
    const std::int32_t pid = listed_.back();
    listed_.pop_back();
    if (!holders_.contains(pid) && identify(pid, holder) && read(holder)) holders_.emplace(pid, std::move(holder));
  }
}

void ResidentMemory::read_new() {
  for (const ProcessId& id : std::exchange(new_, std::exchange(newest_, {}))) {
    const auto found = holders_.find(id.pid);
    if (found != holders_.end() && found->second.id == id && !read(found->second)) holders_.erase(found);
  }
}

std::unordered_map<std::int32_t, ResidentMemory::Holder>& ResidentMemory::look() {
  const unsigned look = look_++;
  read_new();
  if (look % looks_between_lists == 0) list();
  read_listed();
  for (auto at = holders_.begin(); at != holders_.end();) {
    const auto turn = static_cast<unsigned>(at->first) + look;
    const bool asleep = turn % looks_of_sleepers == 0;  // by then it may even be another process, of which nobody told
    const bool due = asleep || (at->second.ran && turn % looks_of_runners == 0);
    at = due && !read_again(at->second, asleep) ? holders_.erase(at) : std::next(at);
  }
  return holders_;
}

}  // namespace joulery
