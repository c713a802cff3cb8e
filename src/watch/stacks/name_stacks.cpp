#include "watch/stacks/name_stacks.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>

#include "watch/stacks/elf_symbols.h"
#include "watch/stacks/perf_map.h"

namespace joulery {
namespace {

std::string file_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// /proc/kallsyms, read once; addresses are all 0 where they are hidden.
class KernelNames {
 public:
  std::string at(std::uint64_t address) {
    if (!read_) read();
    auto next = functions_.upper_bound(address);
    if (next == functions_.begin()) return "[kernel]";
    return std::prev(next)->second;
  }

 private:
  void read() {
    read_ = true;
    std::ifstream file("/proc/kallsyms");
    for (std::string line; std::getline(file, line);) {
      std::uint64_t address = 0;
      const auto [end, failed] = std::from_chars(line.data(), line.data() + line.size(), address, 16);
      const auto at = static_cast<std::size_t>(end - line.data());
      if (failed != std::errc{} || address == 0 || line.size() < at + 4) continue;
      const char type = line[at + 1];
      if (type != 't' && type != 'T' && type != 'w' && type != 'W') continue;
      functions_.try_emplace(address, line.substr(at + 3, line.find('\t', at) - at - 3));
    }
  }
  bool read_ = false;
  std::map<std::uint64_t, std::string> functions_;
};

// Frames of the interpreter itself that stand for the Python function below them.
bool is_interpreter_loop(std::string_view name) {
  constexpr std::string_view fronts[] = {
      "_PyEval_",       "PyEval_",       "_PyFunction_Vectorcall", "_PyObject_Vectorcall", "PyObject_Vectorcall", "_PyVectorcall",
      "_PyObject_Call", "PyObject_Call", "object_vacall",          "method_vectorcall",    "py_trampoline",       "[unknown]"};
  return std::ranges::any_of(fronts, [name](std::string_view front) { return name.starts_with(front); });
}

class Namer {
 public:
  explicit Namer(const SampledRun& run) : run_(run) {
    for (const CodeMapping& mapping : run.mappings) mappings_[mapping.pid].push_back(&mapping);
  }

  std::vector<StackFrame> name(const RawStack& stack) {
    std::vector<StackFrame> frames;  // innermost first, until the end
    for (const std::uint64_t address : stack.kernel) frames.push_back({kernel_.at(address), StackFrameKind::kernel});
    std::vector<StackFrame> followed, found;
    for (std::size_t i = 0; i < stack.user.size(); ++i) followed.push_back(user_frame(stack.pid, stack.user[i] - (i > 0 ? 1 : 0)));
    for (const std::uint64_t address : stack.made_code) {
      if (map_of(stack.pid).begins_at(address)) continue;
      if (StackFrame frame = user_frame(stack.pid, address - 1); frame.kind == StackFrameKind::python) found.push_back(std::move(frame));
    }
    add_user(frames, followed, found);
    const auto process = run_.names.find(stack.pid);
    frames.push_back({process == run_.names.end() || process->second.empty() ? fmt::format("process {}", stack.pid) : process->second,
                      StackFrameKind::process});
    std::ranges::reverse(frames);
    return frames;
  }

  std::vector<std::string> notes() const {
    std::vector<std::string> notes;
    for (const std::int32_t pid : pythons_without_)
      notes.push_back(
          fmt::format("process {} is a Python that names no functions: Python 3.12 or later does (it is started with PYTHONPERFSUPPORT=1), "
                      "so what its functions burn is told as the interpreter's",
                      pid));
    if (nameless_ > 0)
      notes.push_back(
          fmt::format("{} of {} addresses have no name: stripped programs, or code built without frame pointers "
                      "(-fno-omit-frame-pointer), where callers are lost",
                      nameless_, names_.size()));
    return notes;
  }

 private:
  static void add_user(std::vector<StackFrame>& frames, const std::vector<StackFrame>& followed, const std::vector<StackFrame>& found) {
    const auto python = [](const StackFrame& frame) { return frame.kind == StackFrameKind::python; };
    const auto known = static_cast<std::size_t>(std::ranges::count_if(followed, python));
    if (known == 0 && found.empty()) {
      frames.insert(frames.end(), followed.begin(), followed.end());
      return;
    }
    const std::vector<StackFrame>& functions = found.size() > known ? found : followed;
    // What runs on top of the innermost Python function: native code that it called, if not the interpreter's loop.
    bool topmost = true;
    if (found.size() > known && !followed.empty() && !python(followed.front()) && !is_interpreter_loop(followed.front().name))
      frames.push_back(followed.front());
    for (const StackFrame& frame : functions) {
      if (python(frame)) topmost = false;
      if (python(frame) || (topmost && !is_interpreter_loop(frame.name))) frames.push_back(frame);
    }
  }

  StackFrame user_frame(std::int32_t pid, std::uint64_t address) {
    const auto [place, fresh] = names_.try_emplace({pid, address});
    if (fresh) place->second = look_up(pid, address);
    return place->second;
  }

  StackFrame look_up(std::int32_t pid, std::uint64_t address) {
    const CodeMapping* mapping = mapping_of(pid, address);
    if (mapping == nullptr || mapping->path.starts_with("//anon")) return made_at_run_time(pid, address);
    const std::string file = file_name(mapping->path);
    if (mapping->path.starts_with('[')) return {mapping->path, StackFrameKind::native};
    if (file.starts_with("python3") || file.starts_with("libpython3"))
      if (map_of(pid).empty()) pythons_without_.insert(pid);
    if (const ElfSymbols* symbols = symbols_of(mapping->path)) {
      const std::string_view name = symbols->at_offset(address - mapping->begin + mapping->offset);
      if (!name.empty()) return {std::string(name), StackFrameKind::native};
    }
    ++nameless_;
    return {fmt::format("[{}]", file), StackFrameKind::native};
  }

  StackFrame made_at_run_time(std::int32_t pid, std::uint64_t address) {
    const std::string_view name = map_of(pid).at(address);
    if (name.empty()) {
      ++nameless_;
      return {"[unknown]", StackFrameKind::native};
    }
    const std::string function = python_function(name);
    return function.empty() ? StackFrame{std::string(name), StackFrameKind::native} : StackFrame{function, StackFrameKind::python};
  }

  // The mapping made last of those that hold the address.
  const CodeMapping* mapping_of(std::int32_t pid, std::uint64_t address) const {
    const auto found = mappings_.find(pid);
    if (found == mappings_.end()) return nullptr;
    for (auto i = found->second.rbegin(); i != found->second.rend(); ++i)
      if ((*i)->begin <= address && address < (*i)->end) return *i;
    return nullptr;
  }

  const PerfMap& map_of(std::int32_t pid) {
    const auto [place, fresh] = perf_maps_.try_emplace(pid);
    if (fresh) place->second = PerfMap::of_process(pid);
    return place->second;
  }

  const ElfSymbols* symbols_of(const std::string& path) {
    const auto [place, fresh] = files_.try_emplace(path);
    if (fresh)
      if (auto symbols = ElfSymbols::open(path)) place->second = *std::move(symbols);
    return place->second ? &*place->second : nullptr;
  }

  const SampledRun& run_;
  std::map<std::int32_t, std::vector<const CodeMapping*>> mappings_;
  std::map<std::string, std::optional<ElfSymbols>> files_;
  std::map<std::int32_t, PerfMap> perf_maps_;
  std::map<std::pair<std::int32_t, std::uint64_t>, StackFrame> names_;
  std::set<std::int32_t> pythons_without_;
  std::size_t nameless_ = 0;
  KernelNames kernel_;
};

}  // namespace

NamedStacks name_stacks(const SampledRun& run) {
  NamedStacks named;
  Namer namer(run);
  for (const RawStack& stack : run.stacks) named.stacks.push_back(namer.name(stack));
  named.notes = namer.notes();
  if (!run.kernel_too) named.notes.push_back("the kernel's functions may not be seen: kernel.perf_event_paranoid=1 allows it");
  return named;
}

}  // namespace joulery
