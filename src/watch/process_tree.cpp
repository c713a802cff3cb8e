#include "watch/process_tree.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <unordered_map>

#include "watch/cpu_clock.h"
#include "watch/proc_folder.h"
#include "watch/proc_stat.h"

namespace joulery {
namespace {

std::vector<std::int32_t> numbers_of_text(std::string_view text) {
  std::vector<std::int32_t> numbers;
  while (true) {
    text.remove_prefix(std::min(text.find_first_not_of(" \n"), text.size()));
    std::int32_t number = 0;
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (failed != std::errc{}) return numbers;
    numbers.push_back(number);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  }
}

}  // namespace

ProcessTree::ProcessTree(std::int32_t command, std::string root) : command_(command), root_(std::move(root)) {
  lists_children_ = access(fmt::format("{}/task/{}/children", folder_of(command), command).c_str(), F_OK) == 0;
}

std::string ProcessTree::folder_of(std::int32_t pid) const { return fmt::format("{}/proc/{}", root_, pid); }

std::vector<std::int32_t> ProcessTree::children_of(std::int32_t pid) const {
  std::vector<std::int32_t> children;
  const std::string tasks = folder_of(pid) + "/task";
  for (const std::int32_t thread : numbers_in(tasks)) {
    const auto text = read_small_file(fmt::format("{}/{}/children", tasks, thread));
    if (!text) continue;  // the thread has ended: its children are listed with another one
    const auto more = numbers_of_text(*text);
    children.insert(children.end(), more.begin(), more.end());
  }
  return children;
}

std::map<std::int32_t, std::vector<std::int32_t>> ProcessTree::all_children() const {
  std::map<std::int32_t, std::vector<std::int32_t>> children;
  for (const std::int32_t pid : numbers_in(root_ + "/proc"))
    if (const auto stat = read_proc_stat(folder_of(pid) + "/stat")) children[stat->parent].push_back(pid);
  return children;
}

std::optional<Duration> ProcessTree::cpu_time(std::int32_t pid, std::int64_t ticks, Known& known) const {
  if (root_.empty()) return process_cpu_time(pid);
  return recorded_cpu_time(folder_of(pid), ticks, known.threads);
}

// Reads one process and remembers it; nothing where it has vanished, or is not the one that was expected.
std::optional<ProcessSample> ProcessTree::look_at(std::int32_t pid, std::optional<std::int64_t> start_ticks, MonoTime now) {
  auto stat = read_proc_stat(folder_of(pid) + "/stat");
  if (!stat || (start_ticks && *start_ticks != stat->start_ticks)) return std::nullopt;
  const ProcessId id{pid, stat->start_ticks};
  const auto before = known_.find(id);
  Known known = before == known_.end() ? Known{} : std::move(before->second);
  const auto cpu = cpu_time(pid, stat->user_ticks + stat->system_ticks, known);
  if (cpu) {
    known.last = {id, stat->parent, std::move(stat->name), now, std::max(*cpu, known.last.cpu)};
    known.children = duration_of_ticks(stat->children_ticks);
    known.alive = known.looked_at = true;
  }
  if (!cpu && before == known_.end()) return std::nullopt;
  Known& kept = known_[id] = std::move(known);
  return cpu ? std::optional(kept.last) : std::nullopt;
}

class ProcessTree::Agenda {
 public:
  struct Item {
    std::int32_t pid = 0;
    std::optional<std::int64_t> start_ticks;  // empty: just listed as a child, so whoever has the pid is meant
  };

  void add_known(ProcessId id) {
    if (index_.emplace(id.pid, items_.size()).second) items_.push_back({id.pid, id.start_ticks});
  }
  void add_child(std::int32_t pid) {
    const auto [entry, is_new] = index_.emplace(pid, items_.size());
    if (is_new)
      items_.push_back({pid, std::nullopt});
    else if (entry->second >= next_)
      items_[entry->second].start_ticks.reset();
  }
  // The pid belongs to somebody else by now, unless it turns up as a child later.
  void forget(std::int32_t pid) { index_.erase(pid); }
  std::optional<Item> take() { return next_ < items_.size() ? std::optional(items_[next_++]) : std::nullopt; }

 private:
  std::vector<Item> items_;
  std::size_t next_ = 0;
  std::unordered_map<std::int32_t, std::size_t> index_;
};

std::vector<ProcessSample> ProcessTree::scan(MonoTime now) {
  Agenda agenda;
  // What has been seen stays in the tree, whoever its parent is by now.
  for (auto& [id, known] : known_) {
    known.looked_at = false;
    if (known.alive) agenda.add_known(id);
  }
  if (known_.empty()) agenda.add_child(command_);
  std::map<std::int32_t, std::vector<std::int32_t>> children;
  if (!lists_children_) children = all_children();
  std::vector<ProcessSample> samples;
  while (const auto item = agenda.take()) {
    auto sample = look_at(item->pid, item->start_ticks, now);
    if (!sample) {
      if (!item->start_ticks && item->pid != command_) ++vanished_;
      agenda.forget(item->pid);
      continue;
    }
    samples.push_back(*std::move(sample));
    for (const std::int32_t child : lists_children_ ? children_of(item->pid) : children[item->pid]) agenda.add_child(child);
  }
  for (auto& [id, known] : known_) known.alive = known.looked_at;
  return samples;
}

// An orphan's time is added to nobody's: it is not in what the kernel sums up for the command.
bool ProcessTree::waited_for_in_tree(const Known& known) const {
  return std::ranges::any_of(known_, [&](const auto& other) { return other.first.pid == known.last.parent; });
}

Duration ProcessTree::unseen_so_far() const {
  Duration waited_for, seen;
  for (const auto& [id, known] : known_) {
    if (known.alive) waited_for += known.children;
    if (!known.alive && waited_for_in_tree(known)) seen += known.last.cpu;
  }
  return std::max(waited_for - seen, Duration{});
}

bool ProcessTree::holds(std::int32_t pid) const {
  for (auto at = known_.lower_bound({pid, 0}); at != known_.end() && at->first.pid == pid; ++at)
    if (at->second.alive) return true;
  return false;
}

Duration ProcessTree::seen_so_far() const {
  Duration seen;
  for (const auto& [id, known] : known_) seen += known.last.cpu;
  return seen;
}

void ProcessTree::complete(ProcessId id, Duration cpu) {
  const auto known = known_.find(id);
  if (known == known_.end() || cpu <= known->second.last.cpu) return;
  known->second.last.cpu = cpu;
  known->second.completed = true;
}

ProcessTree::End ProcessTree::end(MonoTime now, Duration own, Duration tree) {
  End result{scan(now), {}};
  Duration seen;
  for (auto& [id, known] : known_) {
    if (id.pid == command_) {
      known.last.cpu = std::max(own, known.last.cpu);
      known.last.time = now;
      result.samples.push_back(known.last);
      continue;
    }
    if (known.completed) {
      known.last.time = now;
      result.samples.push_back(known.last);
    }
    if (!known.alive && waited_for_in_tree(known)) seen += known.last.cpu;
  }
  result.unseen = std::max(tree - own - seen, Duration{});
  return result;
}

}  // namespace joulery
