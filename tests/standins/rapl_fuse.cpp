// A fake RAPL that obeys physics, for programs that must not know that it is fake: a FUSE file system with the tree
// of /sys/devices/virtual/powercap/intel-rapl. Each zone burns
//     energy = idle watts x time + busy watts x CPU seconds that this machine was busy (from /proc/stat),
// so a load shows as it would on hardware. The model is its own ground truth: the file `truth` beside the tree gives
// every zone's energy since the start, not wrapped, at one moment of CLOCK_MONOTONIC.
//
// Invariant: energy_uj and truth come from the same instant's evaluation of the same formula, and never fall
// (energy_uj wraps to 0 after --range, as hardware does).
//
//   rapl_fuse [--zone NAME=IDLE,BUSY]... [--range UJ] [--start UJ] [--mode OCTAL] MOUNTPOINT
//
// Zones nest by name and order: package-N and psys stand at the top; core, uncore and dram belong to the package
// named before them. It stays in the foreground and serves one request at a time.
#define FUSE_USE_VERSION 35
#include <fuse3/fuse.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace {

struct Zone {
  std::string name;      // what the file `name` says
  double idle_watts = 0;
  double busy_watts = 0;  // above idle, for each CPU second per second
  std::string path;      // "/intel-rapl/intel-rapl:0/intel-rapl:0:1", set by place_zones
};

struct Options {
  std::vector<Zone> zones;
  double range_uj = 262143328850.0;  // a common max_energy_range_uj: 2^32 - 1 counts of 61.035 uJ
  double start_uj = 0;
  mode_t mode = 0444;
  std::string mountpoint;
};

// One desktop package as the field's tools expect it; the children stay below their package, psys above all.
const std::vector<Zone> default_zones = {
    {"package-0", 10, 20, {}}, {"core", 2, 18, {}}, {"uncore", 1, 0.5, {}}, {"dram", 1.5, 1, {}}, {"psys", 15, 22, {}}};

// ---- the model --------------------------------------------------------------------------------------------------

struct Moment {
  std::int64_t mono_ns = 0;
  double busy_s = 0;  // CPU seconds, all CPUs
};

std::int64_t mono_ns() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<std::int64_t>(t.tv_sec) * 1'000'000'000 + t.tv_nsec;
}

// user + nice + system + irq + softirq of all CPUs; guest time is within user (proc(5)).
double busy_seconds() {
  std::ifstream stat("/proc/stat");
  std::string cpu;
  double user = 0, nice = 0, system = 0, idle = 0, iowait = 0, irq = 0, softirq = 0;
  stat >> cpu >> user >> nice >> system >> idle >> iowait >> irq >> softirq;
  return (user + nice + system + irq + softirq) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

class Model {
 public:
  explicit Model(Options options) : options_(std::move(options)), start_{mono_ns(), busy_seconds()}, last_(start_) {}

  const Options& options() const { return options_; }

  // Time and work so far; neither ever falls, whatever /proc/stat does.
  Moment now() {
    last_.mono_ns = std::max(last_.mono_ns, mono_ns());
    last_.busy_s = std::max(last_.busy_s, busy_seconds());
    return last_;
  }

  // Microjoules since the start.
  double energy_uj(const Zone& zone, Moment at) const {
    const double seconds = static_cast<double>(at.mono_ns - start_.mono_ns) * 1e-9;
    return (zone.idle_watts * seconds + zone.busy_watts * (at.busy_s - start_.busy_s)) * 1e6;
  }

  // What the register shows: it counts 0 .. range and then starts again.
  double counter_uj(const Zone& zone, Moment at) const {
    return std::fmod(std::floor(options_.start_uj + energy_uj(zone, at)), options_.range_uj + 1);
  }

 private:
  Options options_;
  Moment start_, last_;
};

std::string whole(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.0f\n", value);
  return text;
}

// "mono_ns 123\npackage-0 456\n...": the zones of a second package are told apart by their path.
std::string truth_text(Model& model) {
  const Moment at = model.now();
  std::string text = "mono_ns " + std::to_string(at.mono_ns) + "\n";
  for (const Zone& zone : model.options().zones) {
    const std::string id = zone.path.substr(zone.path.rfind('/') + 1);
    text += id + " " + zone.name + " " + whole(model.energy_uj(zone, at));
  }
  return text;
}

// ---- the tree ---------------------------------------------------------------------------------------------------

struct Node {
  enum class Kind { folder, file, link } kind = Kind::folder;
  mode_t mode = 0555;
  std::function<std::string()> text;  // of a file, or where a link points
};

using Tree = std::map<std::string, Node, std::less<>>;

Node folder() { return {Node::Kind::folder, 0555, {}}; }
Node link_to(std::string target) {
  return {Node::Kind::link, 0777, [target = std::move(target)] { return target; }};
}
Node fixed(std::string text, mode_t mode = 0444) {
  return {Node::Kind::file, mode, [text = std::move(text)] { return text; }};
}

void add_zone(Tree& tree, Model& model, const Zone& zone, std::string_view subsystem) {
  tree[zone.path] = folder();
  tree[zone.path + "/name"] = fixed(zone.name + "\n");
  tree[zone.path + "/enabled"] = fixed("1\n");
  tree[zone.path + "/uevent"] = fixed("");
  tree[zone.path + "/max_energy_range_uj"] = fixed(whole(model.options().range_uj));
  tree[zone.path + "/subsystem"] = link_to(std::string(subsystem));
  tree[zone.path + "/energy_uj"] = {Node::Kind::file, model.options().mode,
                                    [&model, &zone] { return whole(model.counter_uj(zone, model.now())); }};
  tree[zone.path + "/constraint_0_name"] = fixed("long_term\n");
  tree[zone.path + "/constraint_0_power_limit_uw"] = fixed("65000000\n");
  tree[zone.path + "/constraint_0_time_window_us"] = fixed("999424\n");
  tree[zone.path + "/constraint_0_max_power_uw"] = fixed("400000000\n");
}

Tree make_tree(Model& model) {
  Tree tree;
  tree["/"] = folder();
  tree["/truth"] = {Node::Kind::file, 0444, [&model] { return truth_text(model); }};
  tree["/intel-rapl"] = folder();
  tree["/intel-rapl/enabled"] = fixed("1\n");
  tree["/intel-rapl/uevent"] = fixed("");
  tree["/intel-rapl/subsystem"] = link_to("../../../../class/powercap");
  for (const Zone& zone : model.options().zones) {
    const bool nested = std::count(zone.path.begin(), zone.path.end(), '/') > 2;
    add_zone(tree, model, zone, nested ? "../../../../../../class/powercap" : "../../../../../class/powercap");
  }
  return tree;
}

bool is_top(const Zone& zone) { return zone.name.starts_with("package-") || zone.name == "psys"; }

// Numbers the zones as the kernel does: in order of appearance, children within their package.
bool place_zones(std::vector<Zone>& zones) {
  int top = -1, child = 0;
  std::string package;
  for (Zone& zone : zones) {
    if (is_top(zone)) {
      package = "/intel-rapl/intel-rapl:" + std::to_string(++top);
      zone.path = package;
      child = 0;
    } else if (package.empty()) {
      return false;
    } else {
      zone.path = package + "/intel-rapl:" + std::to_string(top) + ":" + std::to_string(child++);
    }
  }
  return top >= 0;
}

// ---- FUSE -------------------------------------------------------------------------------------------------------

const Tree& tree() { return *static_cast<const Tree*>(fuse_get_context()->private_data); }

const Node* find(const char* path) {
  const auto it = tree().find(std::string_view(path));
  return it == tree().end() ? nullptr : &it->second;
}

int get_attributes(const char* path, struct stat* out, fuse_file_info*) {
  const Node* node = find(path);
  if (!node) return -ENOENT;
  std::memset(out, 0, sizeof *out);
  const mode_t type = node->kind == Node::Kind::folder ? S_IFDIR : node->kind == Node::Kind::link ? S_IFLNK : S_IFREG;
  out->st_mode = type | node->mode;
  out->st_nlink = node->kind == Node::Kind::folder ? 2 : 1;
  out->st_size = node->kind == Node::Kind::link ? static_cast<off_t>(node->text().size()) : 4096;  // as sysfs says
  return 0;
}

int list_folder(const char* path, void* buffer, fuse_fill_dir_t fill, off_t, fuse_file_info*, fuse_readdir_flags) {
  const std::string prefix = std::string_view(path) == "/" ? "/" : std::string(path) + "/";
  fill(buffer, ".", nullptr, 0, fuse_fill_dir_flags{});
  fill(buffer, "..", nullptr, 0, fuse_fill_dir_flags{});
  for (auto it = tree().upper_bound(prefix); it != tree().end() && it->first.starts_with(prefix); ++it) {
    const std::string name = it->first.substr(prefix.size());
    if (!name.contains('/')) fill(buffer, name.c_str(), nullptr, 0, fuse_fill_dir_flags{});
  }
  return 0;
}

int open_file(const char* path, fuse_file_info* info) {
  if (!find(path)) return -ENOENT;
  if ((info->flags & O_ACCMODE) != O_RDONLY) return -EACCES;
  info->direct_io = 1;  // every read asks the model again
  return 0;
}

int read_file(const char* path, char* buffer, size_t size, off_t offset, fuse_file_info*) {
  const Node* node = find(path);
  if (!node) return -ENOENT;
  const std::string text = node->text();
  if (offset >= static_cast<off_t>(text.size())) return 0;
  const size_t count = std::min(size, text.size() - static_cast<size_t>(offset));
  std::memcpy(buffer, text.data() + offset, count);
  return static_cast<int>(count);
}

int read_link(const char* path, char* buffer, size_t size) {
  const Node* node = find(path);
  if (!node || node->kind != Node::Kind::link) return -EINVAL;
  std::snprintf(buffer, size, "%s", node->text().c_str());
  return 0;
}

int serve(const Tree& files, const std::string& program, const std::string& mountpoint) {
  fuse_operations operations{};
  operations.getattr = get_attributes;
  operations.readdir = list_folder;
  operations.open = open_file;
  operations.read = read_file;
  operations.readlink = read_link;
  std::vector<std::string> words = {program, "-f", "-s", "-o", "allow_other,default_permissions,fsname=rapl", mountpoint};
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  return fuse_main(static_cast<int>(arguments.size()), arguments.data(), &operations, const_cast<Tree*>(&files));
}

// ---- the command line -------------------------------------------------------------------------------------------

std::optional<double> number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

// "package-0=10,20"
std::optional<Zone> parse_zone(std::string_view text) {
  const auto equals = text.find('='), comma = text.find(',');
  if (equals == text.npos || comma == text.npos || comma < equals) return std::nullopt;
  const auto idle = number(text.substr(equals + 1, comma - equals - 1)), busy = number(text.substr(comma + 1));
  if (!idle || !busy || equals == 0) return std::nullopt;
  return Zone{std::string(text.substr(0, equals)), *idle, *busy, {}};
}

bool set_option(Options& options, std::string_view name, std::string_view value) {
  if (name == "--zone") {
    const auto zone = parse_zone(value);
    if (zone) options.zones.push_back(*zone);
    return zone.has_value();
  }
  if (name == "--mode") {
    options.mode = static_cast<mode_t>(std::strtoul(std::string(value).c_str(), nullptr, 8));
    return options.mode != 0 && options.mode <= 0777;
  }
  const auto given = number(value);
  if (!given) return false;
  if (name != "--range" && name != "--start") return false;
  (name == "--range" ? options.range_uj : options.start_uj) = *given;
  return true;
}

std::optional<Options> parse(int count, char** words) {
  Options options;
  for (int i = 1; i < count; ++i) {
    const std::string_view word = words[i];
    if (!word.starts_with("--")) {
      options.mountpoint = word;
    } else if (i + 1 == count || !set_option(options, word, words[i + 1])) {
      return std::nullopt;
    } else {
      ++i;
    }
  }
  if (options.zones.empty()) options.zones = default_zones;
  if (options.mountpoint.empty() || options.range_uj <= options.start_uj || !place_zones(options.zones)) return std::nullopt;
  return options;
}

}  // namespace

int main(int count, char** words) {
  auto options = parse(count, words);
  if (!options) {
    std::fprintf(stderr,
                 "usage: %s [--zone NAME=IDLE,BUSY]... [--range UJ] [--start UJ] [--mode OCTAL] MOUNTPOINT\n"
                 "  zones: package-N and psys at the top; core, uncore, dram after their package\n",
                 words[0]);
    return 2;
  }
  const std::string mountpoint = options->mountpoint;
  Model model(std::move(*options));
  const Tree files = make_tree(model);
  return serve(files, words[0], mountpoint);
}
