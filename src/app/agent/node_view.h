// What the HTTP server may see of the agent: the node's account, its meters, its health, its history. The agent's loop writes,
// the server's thread reads; neither waits for the other longer than a copy takes. The account, which is long, is copied when
// somebody asks for it.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/result.h"
#include "core/time.h"
#include "ledger/node_account.h"
#include "ledger/serving/server_account.h"
#include "sense/meter.h"

namespace joulery {

struct MeterState {
  Finding finding;
  std::vector<std::string> components;  // what it tells of
  std::optional<Duration> age;          // since its last good reading; empty where there was none
};

// One thing that the agent does, and whether it can: "store", "push/central".
struct HealthPart {
  std::string name;
  bool well = true;
  std::string reason;  // why not, and since when
};

struct AgentHealth {
  Duration uptime, interval;
  std::int64_t ticks = 0, late_ticks = 0;
  std::vector<HealthPart> parts;
};

// Called from the server's thread: each function must be safe beside the agent's loop.
class NodeView {
 public:
  virtual ~NodeView() = default;
  virtual std::uint64_t generation() const = 0;  // rises with every new account; 0 while there is none
  // The account of this generation or of a later one. Reuses what `into` holds.
  virtual void account(NodeAccount& into) const = 0;
  virtual std::vector<MeterState> meters() const = 0;
  virtual AgentHealth health() const = 0;
  virtual std::vector<ServerAccount> servers() const { return {}; }
};

// A NodeView that the agent's loop writes into.
class LatestNode : public NodeView {
 public:
  using AccountSource = std::function<void(NodeAccount& into)>;  // by any thread

  explicit LatestNode(AccountSource source) : source_(std::move(source)) {}

  void tick() { ++generation_; }  // the source has a new account
  void set(std::vector<MeterState> meters);
  void set(AgentHealth health);
  void set(std::vector<ServerAccount> servers);
  std::uint64_t generation() const override { return generation_; }
  void account(NodeAccount& into) const override { source_(into); }
  std::vector<MeterState> meters() const override;
  AgentHealth health() const override;
  std::vector<ServerAccount> servers() const override;

 private:
  AccountSource source_;
  std::atomic<std::uint64_t> generation_ = 0;
  mutable std::mutex mutex_;  // over what follows
  std::vector<MeterState> meters_;
  AgentHealth health_;
  std::vector<ServerAccount> servers_;
};

// A question to the store: one series, from <= t < to, a value for every step.
struct HistoryQuery {
  std::string series;                         // "joulery_component_watts"
  std::map<std::string, std::string> labels;  // which a series must have
  WallTime from, to;
  Duration step;
};

struct HistoryPoint {
  WallTime at;
  std::optional<double> value;  // empty: nothing is known of that step
};

struct HistorySeries {
  std::map<std::string, std::string> labels;
  std::vector<HistoryPoint> points;
  std::string reason;  // why some of it is not known
};

class HistorySource {
 public:
  virtual ~HistorySource() = default;
  // Errors: not_found for a series that was never stored; usage, io.
  virtual Result<std::vector<HistorySeries>> query(const HistoryQuery& query) = 0;
};

}  // namespace joulery
