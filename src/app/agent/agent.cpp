#include "app/agent/agent.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <thread>

#include "act/power_knobs.h"
#include "app/agent/confinement.h"
#include "app/agent/learnt_file.h"
#include "app/agent/meter_socket.h"
#include "app/agent/node_view.h"
#include "app/agent/power_desk.h"
#include "app/agent/push.h"
#include "app/agent/serve.h"
#include "app/agent/server_watch.h"
#include "app/agent/store_history.h"
#include "app/agent/store_thread.h"
#include "app/agent/stored_account.h"
#include "app/version.h"
#include "core/units.h"
#include "record/store/store_settings.h"
#include "sense/agent/meter_connection.h"

namespace joulery {
namespace {

constexpr Duration learnt_period = milliseconds(600'000);

void say(const std::string& line) {
  fmt::print(stderr, "joulery agent: {}\n", line);
  std::fflush(stderr);
}

// For systemd (sd_notify(3)): a datagram to the socket that the environment names; nothing where there is none.
void notify(const char* state) {
  const char* path = std::getenv("NOTIFY_SOCKET");
  if (!path || (path[0] != '/' && path[0] != '@')) return;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string name = path;
  if (name.size() >= sizeof address.sun_path) return;
  name.copy(address.sun_path, name.size());
  if (address.sun_path[0] == '@') address.sun_path[0] = '\0';
  const int socket = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return;
  (void)::sendto(socket, state, std::char_traits<char>::length(state), 0, reinterpret_cast<const sockaddr*>(&address),
                 static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size()));
  ::close(socket);
}

std::int64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::int64_t size = 0, resident = 0;
  file >> size >> resident;
  return resident * ::sysconf(_SC_PAGESIZE);
}

std::string host_name() {
  char name[256] = {};
  return ::gethostname(name, sizeof name - 1) == 0 ? name : "localhost";
}

// The machine's own number (machine-id(5)); "" where it has none.
std::string host_id() {
  std::ifstream file("/etc/machine-id");
  std::string id;
  file >> id;
  return id;
}

}  // namespace

struct Agent::Parts {
  NodeWatchOptions options;
  SharedDevices shared;
  OpenedNodeWatch opened;
  std::unique_ptr<PowerDesk> power;
  std::unique_ptr<MeterSocket> meters;  // null where nobody else may read them
  std::string folder;
  std::unique_ptr<Store> store;
  std::unique_ptr<StoreThread> storing;
  std::unique_ptr<StoredAccount> stored;
  std::unique_ptr<StoreHistory> history;
  LatestNode view{[this](NodeAccount& into) { account(into); }};
  std::unique_ptr<PushService> push;
  std::unique_ptr<ServerWatch> servers;
  std::unique_ptr<AgentServer> server;
  MonoTime begin, next_learnt;
  std::int64_t ticks = 0, late = 0;

  void open_power(bool somebody_controls);
  Result<void> give_meters(const Settings& settings, std::vector<std::string>& warnings);
  void start();
  void tick();
  void push_due(WallTime at, bool last);
  void account(NodeAccount& into) const;
  void tell();
  void keep_learnt() const { write_learnt(folder + "/static_power.json", opened.watch->learnt()); }
  AgentHealth health() const;
  std::vector<MeterState> meter_states() const;
};

Agent::Agent() : parts_(std::make_unique<Parts>()) {}

Agent::~Agent() = default;

Result<std::unique_ptr<Agent>> Agent::open(const AgentOptions& options, const Settings& settings) {
  std::unique_ptr<Agent> agent(new Agent());
  Parts& parts = *agent->parts_;
  parts.options = options.watch;
  parts.folder = options.store;
  auto serving = serve_options(settings);
  if (!serving) return std::unexpected(serving.error());
  if (!options.listen.empty()) serving->listen = {options.listen};
  serving->version = version;
  auto opened = open_node_watch(options.watch, settings, [&](auto& devices) { parts.shared.share(devices, options.watch.interval); });
  if (!opened) return std::unexpected(opened.error());
  parts.opened = std::move(*opened);
  const auto keep = read_store_settings(settings);
  if (!keep) return std::unexpected(keep.error());
  auto store = Store::open(parts.folder, *keep);
  if (!store) return std::unexpected(store.error());
  parts.store = std::move(*store);
  parts.opened.watch->restore(read_learnt(parts.folder + "/static_power.json"));
  std::vector<std::string> warnings = serving->warnings;
  if (const auto given = parts.give_meters(settings, warnings); !given) return std::unexpected(given.error());
  if (options.confined) {
    const auto confined =
        confine(std::ranges::any_of(parts.opened.findings, [](const Finding& f) { return f.kind == "neuron" && f.found; }));
    say(confined ? *confined : "not confined: " + confined.error().line());
  }
  // From here on there are threads; each has what the process has left.
  parts.stored = std::make_unique<StoredAccount>(*parts.store);
  parts.history = std::make_unique<StoreHistory>(parts.folder);
  const PushIdentity identity{host_name(), host_id(), version, wall_now()};
  auto push = PushService::start(settings, identity, parts.folder + "/push", warnings);
  if (!push) return std::unexpected(push.error());
  parts.push = std::move(*push);
  auto servers = ServerWatch::start(settings, warnings);
  if (!servers) return std::unexpected(servers.error());
  parts.servers = std::move(*servers);
  auto server = AgentServer::start(std::move(*serving), parts.view, parts.history.get());
  if (!server) return std::unexpected(server.error());
  parts.server = std::move(*server);
  for (const std::string& warning : warnings) say(warning);
  if (!parts.opened.note.empty()) say(parts.opened.note);
  parts.start();
  return agent;
}

// What may be written later is opened now, while there is the right to. Where nobody may set limits, nothing is, but to put back what
// an agent has left that was killed.
void Agent::Parts::open_power(bool somebody_controls) {
  const std::string journals = folder + "/power";
  const bool writes = somebody_controls || PowerControl::anything_left(journals);
  PowerKnobs knobs = find_power_knobs(Machine(options.sysroot), writes ? KnobFile::Access::write : KnobFile::Access::read);
  power = std::make_unique<PowerDesk>(PowerControl(std::move(knobs), journals, options.sysroot), say);
  power->recover();
  if (writes && !somebody_controls)
    power = std::make_unique<PowerDesk>(
        PowerControl(find_power_knobs(Machine(options.sysroot), KnobFile::Access::read), journals, options.sysroot), say);
}

// The socket is there before rights are given up, and answers only afterwards.
Result<void> Agent::Parts::give_meters(const Settings& settings, std::vector<std::string>& warnings) {
  auto scopes = MeterScopes::from(settings, warnings);
  if (!scopes) return std::unexpected(scopes.error());
  open_power(scopes->anybody_controls());
  const auto set = settings.text("agent.meters.socket");
  if (!set) return std::unexpected(set.error());
  // Who watches a recorded tree does not pass it for this machine unless told to.
  const std::string usual = !options.sysroot.empty() ? "" : ::geteuid() == 0 ? system_meter_socket : user_meter_socket();
  const std::string path = set->value_or(usual);
  if (path.empty()) return {};
  meters = std::make_unique<MeterSocket>(shared, *std::move(scopes), version, power.get());
  if (const auto listening = meters->listen(path); !listening) {
    warnings.push_back("gives its meters to nobody: " + listening.error().line());
    meters.reset();
  }
  return {};
}

void Agent::Parts::start() {
  if (meters) {
    if (const auto started = power->start([this] { meters->wake(); }); !started) say("sets no power limits: " + started.error().line());
    if (const auto started = meters->start(); !started) {
      say("gives its meters to nobody: " + started.error().line());
      meters.reset();
    }
  }
  storing = std::make_unique<StoreThread>(*store, say);
  opened.watch->start();
  begin = mono_now();
  next_learnt = begin + learnt_period;
  view.set(health());
}

std::string Agent::ready_line() const {
  std::string addresses;
  for (const std::string& address : parts_->server->addresses()) addresses += (addresses.empty() ? "" : ", ") + address;
  const auto readable = std::ranges::count_if(parts_->opened.findings, &Finding::readable);
  const std::string given = parts_->meters ? " and gives them at " + parts_->meters->path() : "";
  return fmt::format("joulery agent {}: ready; serves {}; reads {} meter{}{}; stores in {}\n", version, addresses, readable,
                     readable == 1 ? "" : "s", given, parts_->folder);
}

AgentHealth Agent::Parts::health() const {
  AgentHealth health;
  health.uptime = mono_now() - begin;
  health.interval = options.interval;
  health.ticks = ticks;
  health.late_ticks = late;
  const std::string trouble = storing ? storing->trouble() : "";
  health.parts.push_back({"store", trouble.empty(), trouble});
  return health;
}

// A finding that has a device is told with how old its last reading is.
std::vector<MeterState> Agent::Parts::meter_states() const {
  const auto devices = opened.watch->device_states();
  std::vector<MeterState> states;
  for (const Finding& finding : opened.findings) {
    MeterState state{finding, {}, std::nullopt};
    for (const NodeWatch::DeviceState& device : devices)
      if (device.kind == finding.kind && device.name == finding.device) state.components = device.components, state.age = device.age;
    states.push_back(std::move(state));
  }
  return states;
}

void Agent::Parts::tick() {
  if (!opened.watch->tick()) return;
  ++ticks;
  const WallTime at = ClockMap::now().to_wall(opened.watch->now());
  stored->add(opened.watch->accounts(), at, opened.watch->accounts().tick());
  storing->wake();
  push_due(at, false);
  servers->tick(opened.watch->now(), opened.watch->accounts().components());
  view.set(servers->accounts());
  view.tick();
  view.set(health());
  view.set(meter_states());
  server->tick();
  tell();
  if (mono_now() < next_learnt) return;
  keep_learnt();
  next_learnt = mono_now() + learnt_period;
}

// By any thread.
void Agent::Parts::account(NodeAccount& into) const {
  opened.watch->account(into);
  into.own_cpu = nanoseconds(clock_ns(CLOCK_PROCESS_CPUTIME_ID));
  into.own_memory = resident_bytes();
}

void Agent::Parts::push_due(WallTime at, bool last) {
  const MonoTime now = opened.watch->now();
  if (!push->due(now, last)) return;
  NodeAccount all;
  account(all);
  push->offer(all, now, at, last);
}

void Agent::Parts::tell() {
  for (const std::string& line : push->news()) say(line);
  for (const std::string& line : servers->news()) say(line);
}

void Agent::run(const SignalGate& gate) {
  Parts& parts = *parts_;
  notify("READY=1");
  const Duration interval = parts.options.interval;
  for (MonoTime next = mono_now() + interval;;) {
    if (gate.next_request_to_end(next)) break;
    parts.tick();
    const MonoTime now = mono_now();
    next = next + interval;
    if (now < next) continue;
    ++parts.late;
    next = now + interval;
  }
  notify("STOPPING=1");
  parts.server->stop();
  if (parts.meters) parts.meters->stop();
  parts.power->stop();  // puts limits back before anything else takes its time
  parts.meters.reset();
  parts.opened.watch->stop();
  parts.tick();
  parts.push_due(wall_now(), true);
  parts.push.reset();  // sends what it can
  parts.keep_learnt();
  parts.storing.reset();
  if (const auto closed = parts.store->close(); !closed) say(closed.error().line());
}

}  // namespace joulery
