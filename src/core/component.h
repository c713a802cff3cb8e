// The tree of what burns: a path such as "node/cpu/package-0/core". A component's joules contain those of
// everything below it, so a path that lies below a counted one is an overlap and is shown apart.
//
// Above the node stands the wall: what its feeds deliver, before the power supply takes its share. "wall" is all of it,
// "wall/NAME" one feed of several (two power supplies on two outlets), which add up. The wall contains the node.
//
// A recording of several hosts (joulery merge) has a tree for each below "host/NAME/": "host/node-a/node/cpu/package-0".
#pragma once

#include <compare>
#include <string>
#include <string_view>

namespace joulery {

class Component {
 public:
  Component() = default;
  explicit Component(std::string path) : path_(std::move(path)) {}
  const std::string& path() const { return path_; }
  // The part after the last slash: "package-0".
  std::string_view leaf() const { return std::string_view(path_).substr(path_.rfind('/') + 1); }
  // "node-a" of "host/node-a/node/cpu"; "" where there is one host.
  std::string_view host() const {
    const std::string_view rest = below_hosts();
    return rest.substr(0, rest.find('/'));
  }
  // The path within its host: "node/cpu".
  std::string_view local() const {
    const std::string_view rest = below_hosts();
    if (rest.empty()) return path_;
    const std::size_t slash = rest.find('/');
    return slash == std::string_view::npos ? std::string_view() : rest.substr(slash + 1);
  }
  // The same part as one of a host among several.
  Component of_host(std::string_view name) const { return Component("host/" + std::string(name) + "/" + path_); }
  // True of "wall" and of its feeds.
  bool at_wall() const { return local() == "wall" || local().starts_with("wall/"); }
  // True where `this` lies strictly inside `other`: node/cpu/package-0 inside node, and all but the wall itself inside
  // the wall. What one feed of several delivers to whom is not known: nothing lies inside a feed.
  bool inside(const Component& other) const {
    if (other.local() == "wall") return local() != "wall" && host() == other.host();
    return path_.size() > other.path_.size() && path_.starts_with(other.path_) && path_[other.path_.size()] == '/';
  }
  friend auto operator<=>(const Component&, const Component&) = default;

 private:
  std::string_view below_hosts() const {
    constexpr std::string_view hosts = "host/";
    return path_.starts_with(hosts) ? std::string_view(path_).substr(hosts.size()) : std::string_view();
  }
  std::string path_;
};

}  // namespace joulery
