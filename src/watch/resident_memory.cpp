#include "watch/resident_memory.h"

#include <dirent.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <charconv>
#include <cstring>
#include <memory>
#include <set>

#include "watch/proc_stat.h"

namespace joulery {

bool ResidentMemory::identify(std::int32_t pid, Holder& holder) const {
  const std::string folder = fmt::format("{}/proc/{}", root_, pid);
  const auto stat = read_proc_stat(folder + "/stat");
  struct stat about{};
  if (!stat || ::stat(folder.c_str(), &about) != 0) return false;
  holder = {{pid, stat->start_ticks}, stat->parent, about.st_uid, stat->name, holder.bytes};
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
  return true;
}

// Who is new is read at once; a pid that has another start by now is another process.
void ResidentMemory::list() {
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir((root_ + "/proc").c_str()), ::closedir);
  if (!folder) return;
  std::set<std::int32_t> living;
  while (const dirent* entry = ::readdir(folder.get())) {
    std::int32_t pid = 0;
    const char* end = entry->d_name + std::strlen(entry->d_name);
    const auto [rest, failed] = std::from_chars(entry->d_name, end, pid);
    if (failed == std::errc{} && rest == end && pid > 0) living.insert(pid);
  }
  std::erase_if(holders_, [&](const auto& holder) { return !living.contains(holder.first); });
  for (const std::int32_t pid : living) {
    if (holders_.contains(pid)) continue;
    Holder holder;
    if (identify(pid, holder) && read(holder)) holders_.emplace(pid, std::move(holder));
  }
}

void ResidentMemory::forget(ProcessId id) {
  if (const auto holder = holders_.find(id.pid); holder != holders_.end() && holder->second.id == id) holders_.erase(holder);
}

const std::map<std::int32_t, ResidentMemory::Holder>& ResidentMemory::look() {
  const unsigned turn = turn_++ % turns;
  if (turn == 0) list();
  for (auto at = holders_.begin(); at != holders_.end();) {
    const bool due = static_cast<unsigned>(at->first) % turns == turn;
    at = due && !(identify(at->first, at->second) && read(at->second)) ? holders_.erase(at) : std::next(at);
  }
  return holders_;
}

}  // namespace joulery
