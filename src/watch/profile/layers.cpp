#include "watch/profile/layers.h"

#include <algorithm>
#include <string>
#include <unordered_map>

namespace joulery {
namespace {

constexpr NameId layers_most = (1u << 24) - 1;
constexpr std::string_view module_prefix = "nn.Module: ";
constexpr std::size_t deepest_path = 64;

// What is known of launches: by correlation and by External id.
struct Links {
  std::unordered_map<std::uint32_t, NameId> layer_of_op;           // External id -> layer
  std::unordered_map<std::uint32_t, NameId> layer_of_sequence;     // autograd's number -> layer of the forward op
  std::unordered_map<std::uint32_t, std::uint32_t> op_of_launch;   // correlation -> External id of the op around the call
  std::unordered_map<std::uint32_t, NameId> layer_of_launch;       // correlation -> layer around a call that no op is around
};

class ModulePaths {
 public:
  explicit ModulePaths(NameTable& names) : names_(&names) {}

  // The path of module `name` inside `parent`.
  NameId inside(NameId parent, NameId name) {
    const auto [found, added] = paths_.try_emplace((std::uint64_t{parent} << 32) | name, 0);
    if (!added) return found->second;
    std::string path(names_->operator[](parent));
    if (std::string_view text = (*names_)[name]; std::size_t(std::ranges::count(path, '/')) < deepest_path) {
      if (text.starts_with(module_prefix)) text.remove_prefix(module_prefix.size());
      if (const std::string_view around = repeated(parent, text); !around.empty()) path.resize(path.size() - around.size());
      if (!path.empty() && !path.ends_with('/')) path += '/';
      path += text;
    }
    const NameId id = names_->add(path);
    own_names_.try_emplace(id, name);
    return found->second = id <= layers_most ? id : 0;
  }

 private:
  // The name of the module `parent` where `text` begins with it: "net.conv1" inside "net" tells the path itself. Else "".
  std::string_view repeated(NameId parent, std::string_view text) const {
    const auto found = own_names_.find(parent);
    if (found == own_names_.end()) return {};
    const std::string_view own = (*names_)[found->second];
    const bool repeats = text.size() > own.size() && text.starts_with(own) && (text[own.size()] == '.' || text[own.size()] == '/');
    return repeats && (*names_)[parent].ends_with(own) ? own : std::string_view{};
  }

  NameTable* names_;
  std::unordered_map<NameId, NameId> own_names_;   // path -> name of the module that it leads to
  std::unordered_map<std::uint64_t, NameId> paths_;
};

bool launches(EventKind kind) { return kind == EventKind::runtime || kind == EventKind::sync; }

struct Open {
  std::int64_t end;
  NameId layer;
  std::uint32_t op;
};

// One pass over a host thread: layers from the modules around, and the op around each runtime call.
void walk_thread(ProfileTrack& track, ModulePaths& paths, Links& links) {
  std::vector<Open> open;
  for (ProfileEvent& event : track.events) {
    while (!open.empty() && open.back().end <= event.begin) open.pop_back();
    const NameId around = open.empty() ? 0 : open.back().layer;
    std::uint32_t op = open.empty() ? no_link : open.back().op;
    if (event.kind == EventKind::module)
      event.layer = paths.inside(around, event.name) & layers_most;
    else if (event.layer == 0)
      event.layer = around & layers_most;
    if (event.kind == EventKind::op) {
      op = event.external;
      if (event.layer != 0 && event.external != no_link) links.layer_of_op.try_emplace(event.external, NameId{event.layer});
      if (event.layer != 0 && event.correlation != no_link) links.layer_of_sequence.try_emplace(event.correlation, NameId{event.layer});
    } else if (launches(event.kind)) {
      if (op != no_link) {
        if (event.correlation != no_link) links.op_of_launch[event.correlation] = op;
        event.external = op;
      } else if (event.correlation != no_link && event.external != no_link) {
        links.op_of_launch.try_emplace(event.correlation, event.external);
      } else if (event.correlation != no_link && event.layer != 0) {
        links.layer_of_launch.try_emplace(event.correlation, NameId{event.layer});
      }
    }
    open.push_back({event.end(), event.layer, op});
  }
}

// The backward ops, and what runs inside them.
void walk_backward(ProfileTrack& track, Links& links) {
  std::vector<Open> open;
  for (ProfileEvent& event : track.events) {
    while (!open.empty() && open.back().end <= event.begin) open.pop_back();
    if (event.layer == 0 && event.kind == EventKind::op && event.correlation != no_link)
      if (const auto found = links.layer_of_sequence.find(event.correlation); found != links.layer_of_sequence.end())
        event.layer = found->second & layers_most;
    if (event.layer == 0 && !open.empty()) event.layer = open.back().layer & layers_most;
    if (event.layer != 0 && event.kind == EventKind::op && event.external != no_link)
      links.layer_of_op.try_emplace(event.external, NameId{event.layer});
    open.push_back({event.end(), event.layer, no_link});
  }
}

void walk_stream(ProfileTrack& track, const Links& links) {
  for (ProfileEvent& event : track.events) {
    if (const auto found = links.op_of_launch.find(event.correlation); event.correlation != no_link && found != links.op_of_launch.end())
      event.external = found->second;
    if (event.layer == 0 && event.external == no_link && event.correlation != no_link)
      if (const auto found = links.layer_of_launch.find(event.correlation); found != links.layer_of_launch.end())
        event.layer = found->second & layers_most;
    if (event.layer != 0 || event.external == no_link) continue;
    if (const auto found = links.layer_of_op.find(event.external); found != links.layer_of_op.end())
      event.layer = found->second & layers_most;
  }
}

}  // namespace

void find_layers(Profile& profile) {
  ModulePaths paths(profile.names);
  Links links;
  for (ProfileTrack& track : profile.tracks)
    if (track.kind == TrackKind::thread) walk_thread(track, paths, links);
  if (!links.layer_of_sequence.empty())
    for (ProfileTrack& track : profile.tracks)
      if (track.kind == TrackKind::thread) walk_backward(track, links);
  for (ProfileTrack& track : profile.tracks)
    if (track.kind == TrackKind::stream) walk_stream(track, links);
}

}  // namespace joulery
