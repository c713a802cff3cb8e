#include "app/agent/node_view.h"

#include <utility>

namespace joulery {

void LatestNode::set(std::vector<MeterState> meters) {
  const std::lock_guard lock(mutex_);
  std::swap(meters_, meters);
}

void LatestNode::set(AgentHealth health) {
  const std::lock_guard lock(mutex_);
  std::swap(health_, health);
}

void LatestNode::set(std::vector<ServerAccount> servers) {
  const std::lock_guard lock(mutex_);
  std::swap(servers_, servers);
}

std::vector<MeterState> LatestNode::meters() const {
  const std::lock_guard lock(mutex_);
  return meters_;
}

std::vector<ServerAccount> LatestNode::servers() const {
  const std::lock_guard lock(mutex_);
  return servers_;
}

AgentHealth LatestNode::health() const {
  const std::lock_guard lock(mutex_);
  return health_;
}

}  // namespace joulery
