#include "app/agent/meter_socket.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <optional>
#include <system_error>
#include <utility>

#include "sense/agent/meter_connection.h"

namespace joulery {
namespace {

constexpr std::size_t most_connections = 256, most_of_one_user = 64;
constexpr double readings_at_once = 4;                         // the first and the last of a run are fresh
constexpr Duration longest_wait = milliseconds(500);            // for a fresh reading: clients wait a second for an answer
constexpr double requests_at_once = 2 * most_shared_devices;   // all devices are described to a new reader
constexpr Duration request_period = nanoseconds(500'000);
constexpr Duration deaf_for = milliseconds(200);
constexpr int idle_milliseconds = 60'000;
constexpr int most_accepts_at_once = 32;

bool tells_energy(const Channel& c) { return c.measurand == Measurand::energy || c.measurand == Measurand::power; }

bool belongs_to(std::int64_t pid, uid_t user) {
  struct stat status{};
  return ::stat(fmt::format("/proc/{}", pid).c_str(), &status) == 0 && status.st_uid == user;
}

Result<sockaddr_un> address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path[0] != '/' || path.size() >= sizeof address.sun_path)
    return fail(ErrorCode::usage, "no absolute path of at most 107 characters", path, "agent.meters.socket");
  path.copy(address.sun_path, path.size());
  return address;
}

// A socket that is there belongs to an agent that runs, or to one that was killed.
Result<void> make_way(const std::string& path, const sockaddr_un& address) {
  struct stat status{};
  if (::lstat(path.c_str(), &status) != 0) return {};
  if (!S_ISSOCK(status.st_mode)) return fail(ErrorCode::usage, "there is something else in place of a socket", path, "agent.meters.socket");
  const int probe = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const bool refused = ::connect(probe, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 && errno == ECONNREFUSED;
  ::close(probe);
  if (!refused) return fail(ErrorCode::busy, "somebody else listens there", path, "another agent? agent.meters.socket names another path");
  if (::unlink(path.c_str()) != 0) return std::unexpected(error_from_errno(errno, "cannot replace the socket that was left", path));
  return {};
}

void make_folder_of(const std::string& path) {
  const std::string folder = path.substr(0, path.rfind('/'));
  if (::mkdir(folder.c_str(), 0755) == 0) (void)::chmod(folder.c_str(), 0755);
}

}  // namespace

double TokenBucket::tokens_at(MonoTime now) const {
  if (period_ <= Duration{}) return most_;
  return std::min(most_, tokens_ + (now - counted_) / period_);
}

bool TokenBucket::take(MonoTime now) {
  tokens_ = tokens_at(now);
  counted_ = now;
  if (tokens_ < 1 - 1e-9) return false;  // what next() names is in time
  tokens_ = std::max(0.0, tokens_ - 1);
  return true;
}

MonoTime TokenBucket::next() const {
  return tokens_ >= 1 ? MonoTime{}
                      : counted_ + nanoseconds(static_cast<std::int64_t>((1 - tokens_) * static_cast<double>(period_.base_units())) + 1);
}

bool TokenBucket::full(MonoTime now) const { return tokens_at(now) >= most_; }

void SharedDevices::share(std::vector<Device>& devices, Duration interval) {
  for (Device& device : devices) {
    const auto channels = device.meter->channels();
    if (std::ranges::none_of(channels, tells_energy) || all_.size() == most_shared_devices) continue;
    SharedDevice told{device.kind, device.name, device.slow, device.least_interval, device.remarks, {channels.begin(), channels.end()}};
    if (told.slow) told.least_interval = std::max(told.least_interval, interval);
    if (to_message(MeterHead{}, told).size() > longest_meter_message) continue;
    auto meter = std::make_unique<SharedMeter>(std::move(device.meter));
    all_.push_back({std::move(told), meter.get()});
    device.meter = std::move(meter);
  }
}

// One user in one scope, over all connections.
struct MeterSocket::Visitor {
  struct Kept {
    TokenBucket fresh;
    std::vector<Reading> readings;  // as last told
  };
  MeterPeer peer;
  MeterScope scope;
  std::size_t connections = 0;
  TokenBucket requests;
  std::vector<Kept> devices;

  bool may_ask(MonoTime now) const { return scope == MeterScope::read_all || requests.next() <= now; }
};

struct MeterSocket::Connection {
  int descriptor;
  Visitor* visitor = nullptr;
  std::optional<MeterHead> waiting = {};  // for a fresh reading
  bool at_desk = false;                   // waits for an answer about power limits
  PowerDesk* desk = nullptr;              // which may hold limits for it
  PowerClient client = {};
  bool finished = false;

  Connection(int open) : descriptor(open) {}
  Connection(const Connection&) = delete;
  ~Connection() {
    if (visitor) --visitor->connections;
    if (desk) desk->gone(client.connection);
    ::close(descriptor);
  }
};

MeterSocket::MeterSocket(const SharedDevices& devices, MeterScopes scopes, std::string version, PowerDesk* power)
    : devices_(devices),
      scopes_(std::move(scopes)),
      version_(std::move(version)),
      power_(power),
      wake_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {}

MeterSocket::~MeterSocket() {
  stop();
  if (wake_ >= 0) ::close(wake_);
}

Result<void> MeterSocket::listen(const std::string& path) {
  const auto address = address_of(path);
  if (!address) return std::unexpected(address.error());
  make_folder_of(path);
  if (auto free = make_way(path, *address); !free) return free;
  listener_ = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (listener_ < 0) return std::unexpected(error_from_errno(errno, "cannot make a socket", path));
  struct stat made{};
  // Who may read what is a matter of scopes, not of the file.
  if (::bind(listener_, reinterpret_cast<const sockaddr*>(&*address), sizeof *address) != 0 || ::chmod(path.c_str(), 0666) != 0 ||
      ::listen(listener_, 128) != 0 || ::lstat(path.c_str(), &made) != 0) {
    const int number = errno;
    ::close(std::exchange(listener_, -1));
    return std::unexpected(error_from_errno(number, "cannot listen for those who read meters", path));
  }
  path_ = path;
  inode_ = made.st_ino;
  return {};
}

Result<void> MeterSocket::start() {
  if (wake_ < 0) return fail(ErrorCode::io, "cannot make an eventfd");
  try {
    thread_ = std::thread([this] { run(); });
  } catch (const std::system_error& error) { return fail(ErrorCode::io, std::string("cannot start a thread: ") + error.what()); }
  return {};
}

void MeterSocket::stop() {
  stopping_ = true;
  wake();
  if (thread_.joinable()) thread_.join();
  connections_.clear();
  visitors_.clear();
  if (listener_ < 0) return;
  struct stat status{};
  if (::lstat(path_.c_str(), &status) == 0 && status.st_ino == inode_) ::unlink(path_.c_str());
  ::close(std::exchange(listener_, -1));
}

void MeterSocket::wake() const {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t woken = ::write(wake_, &one, sizeof one);
}

void MeterSocket::adopt(int descriptor) { greet(connections_.emplace_back(descriptor)); }

void MeterSocket::run() {
  sigset_t every;
  ::sigfillset(&every);
  ::pthread_sigmask(SIG_BLOCK, &every, nullptr);
  while (!stopping_) {
    MonoTime now = mono_now();
    std::vector<pollfd> polled{{wake_, POLLIN, 0}, {deaf_until_ > now ? -1 : listener_, POLLIN, 0}};
    for (const Connection& one : connections_)
      polled.push_back({one.visitor->may_ask(now) ? one.descriptor : -1, static_cast<short>(one.waiting || one.at_desk ? 0 : POLLIN), 0});
    if (::poll(polled.data(), polled.size(), milliseconds_left(now)) < 0 && errno != EINTR) return;
    std::size_t i = 2;
    for (Connection& one : connections_)
      if (polled[i++].revents != 0) one.finished = one.waiting || one.at_desk || !answer(one);  // who waits and is heard of has hung up
    std::uint64_t count = 0;
    if (polled[0].revents != 0) (void)::read(wake_, &count, sizeof count);
    give_the_desks_answers();
    answer_the_waiting();
    connections_.remove_if([](const Connection& one) { return one.finished; });
    if (polled[1].revents != 0) accept_all();
    forget_visitors();
  }
}

// Whom a flood has silenced is heard again when there is a token.
int MeterSocket::milliseconds_left(MonoTime now) const {
  MonoTime next = now + milliseconds(idle_milliseconds);
  for (const Connection& one : connections_) {
    if (!one.visitor->may_ask(now)) next = std::min(next, one.visitor->requests.next());
    if (one.waiting) next = std::min(next, one.visitor->devices[one.waiting->device].fresh.next());
  }
  next = std::max(next, now);
  if (deaf_until_ > now) next = std::min(next, deaf_until_);
  return static_cast<int>((next - now).base_units() / 1'000'000 + 1);
}

void MeterSocket::accept_all() {
  for (int i = 0; i < most_accepts_at_once; ++i) {
    const int descriptor = ::accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (descriptor < 0) {
      // No descriptors left: to poll again at once would only spin.
      if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) deaf_until_ = mono_now() + deaf_for;
      return;
    }
    adopt(descriptor);
  }
}

MeterSocket::Visitor& MeterSocket::visitor_of(const MeterPeer& peer) {
  const MeterScope scope = scopes_.of(peer);
  auto& visitor = visitors_[{peer.user, scope}];
  if (visitor) return *visitor;
  visitor = std::make_unique<Visitor>(Visitor{peer, scope, 0, TokenBucket(requests_at_once, request_period), {}});
  for (const SharedDevices::One& device : devices_.all()) {
    const Duration period = std::max(scopes_.least_interval(scope), device.told.slow ? device.told.least_interval : Duration{});
    visitor->devices.push_back({TokenBucket(readings_at_once, period), {}});
  }
  return *visitor;
}

// Who has gone is forgotten once that gains nobody a reading.
void MeterSocket::forget_visitors() {
  const MonoTime now = mono_now();
  std::erase_if(visitors_, [&](const auto& entry) {
    const Visitor& visitor = *entry.second;
    return visitor.connections == 0 && visitor.requests.full(now) &&
           std::ranges::all_of(visitor.devices, [&](const Visitor::Kept& kept) { return kept.fresh.full(now); });
  });
}

// Says hello, or why not, to who has come; removes the connection in the latter case.
void MeterSocket::greet(Connection& connection) {
  MeterHello hello{version_, mono_now(), "", "", {}, 0};
  const auto peer = peer_of(connection.descriptor);
  if (!peer) {
    hello.refused = peer.error().line();
  } else if (const MeterScope scope = scopes_.of(*peer); scope == MeterScope::refused) {
    hello.refused = scopes_.refusal(*peer);
  } else {
    Visitor& visitor = visitor_of(*peer);
    const bool crowded = visitor.connections >= most_of_one_user || connections_.size() > most_connections;
    if (crowded) hello.refused = "too many read this agent's meters already";
    if (!crowded) {
      connection.visitor = &visitor;
      connection.client = {++last_connection_, peer->user, peer->process, scopes_.may_control(*peer)};
      ++visitor.connections;
    }
    hello.scope = name_of(scope);
    hello.least_interval = scopes_.least_interval(scope);
    hello.devices = devices_.all().size();
    hello.controls = power_ && scopes_.may_control(*peer);
  }
  const std::string message = to_message(MeterHead{}, hello);
  const bool sent = ::send(connection.descriptor, message.data(), message.size(), MSG_DONTWAIT | MSG_NOSIGNAL) >= 0;
  if (!sent || !connection.visitor) connections_.remove_if([&](const Connection& one) { return &one == &connection; });
}

// False where the connection is over: the client hung up, said what is no request, or does not take its answers.
bool MeterSocket::answer(Connection& connection) {
  char bytes[longest_limit_request];
  const ssize_t size = ::recv(connection.descriptor, bytes, sizeof bytes, MSG_DONTWAIT | MSG_TRUNC);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return true;
  if (size <= 0 || size > static_cast<ssize_t>(sizeof bytes)) return false;
  const std::string_view message(bytes, static_cast<std::size_t>(size));
  if (auto wanted = parse_limit_request(message)) return ask_the_desk(wanted->first, std::move(wanted->second), connection);
  const auto request = parse_meter_request(message);
  if (request && (request->word == MeterWord::limits || request->word == MeterWord::give_back))
    return ask_the_desk(*request, std::nullopt, connection);
  if (!request || request->device >= devices_.all().size()) return false;
  const MonoTime now = mono_now();
  (void)connection.visitor->requests.take(now);
  if (request->word == MeterWord::readings) {
    if (waits(*connection.visitor, request->device, now)) return connection.waiting = *request, true;
    read_for(*connection.visitor, request->device);
  }
  const std::string told = answer_to(*request, connection);
  return ::send(connection.descriptor, told.data(), told.size(), MSG_DONTWAIT | MSG_NOSIGNAL) >= 0;
}

// False where there is none: the words mean nothing then.
bool MeterSocket::ask_the_desk(const MeterHead& request, std::optional<LimitRequest> limit, Connection& connection) {
  if (!power_) return false;
  (void)connection.visitor->requests.take(mono_now());
  connection.at_desk = true;
  connection.desk = power_;
  power_->ask(connection.client, request, std::move(limit));
  return true;
}

// Who is gone meanwhile is not told.
void MeterSocket::give_the_desks_answers() {
  if (!power_) return;
  for (const PowerDesk::Answer& answer : power_->answers()) {
    const auto asked =
        std::ranges::find_if(connections_, [&](const Connection& one) { return one.client.connection == answer.connection; });
    if (asked == connections_.end()) continue;
    asked->at_desk = false;
    const bool sent = ::send(asked->descriptor, answer.message.data(), answer.message.size(), MSG_DONTWAIT | MSG_NOSIGNAL) >= 0;
    asked->finished = asked->finished || !sent;
  }
}

std::string MeterSocket::answer_to(const MeterHead& request, Connection& connection) {
  Visitor& visitor = *connection.visitor;
  if (request.word == MeterWord::readings) return to_message(request, visitor.devices[request.device].readings);
  if (request.word == MeterWord::processes) {
    std::vector<DeviceProcess> users = processes_for(visitor, request.device);
    std::string message = to_message(request, users);
    for (; message.size() > longest_meter_message; message = to_message(request, users)) users.resize(users.size() / 2);
    return message;
  }
  SharedDevice device = devices_.all()[request.device].told;
  device.least_interval = std::max(device.least_interval, scopes_.least_interval(visitor.scope));
  for (Channel& channel : device.channels) channel = channel_in(visitor.scope, std::move(channel));
  return to_message(request, device);
}

// A slow device is read when the agent reads it, for nobody else.
std::vector<Reading> MeterSocket::read_now(std::size_t device) const {
  const auto& [told, meter] = devices_.all()[device];
  const MonoTime now = mono_now();
  std::vector<Reading> readings;
  if (told.slow)
    readings = meter->last();
  else
    readings = read_once(*meter);
  readings.resize(told.channels.size(), Reading{0, MissingReason::timed_out, now, now});
  return readings;
}

// True where a fresh reading comes soon enough to be waited for.
bool MeterSocket::waits(const Visitor& visitor, std::size_t device, MonoTime now) const {
  const MonoTime next = visitor.devices[device].fresh.next();
  return visitor.scope != MeterScope::read_all && next > now && next <= now + longest_wait;
}

// Reads the device anew for this user, if it is time to; what it is told is kept.
void MeterSocket::read_for(Visitor& visitor, std::size_t device) {
  Visitor::Kept& kept = visitor.devices[device];
  if (visitor.scope != MeterScope::read_all && !kept.fresh.take(mono_now())) return;
  kept.readings = read_now(device);
  round_readings(visitor.scope, devices_.all()[device].told.channels, kept.readings);
}

// One reading for all connections of a user that wait for the same device.
void MeterSocket::answer_the_waiting() {
  const MonoTime now = mono_now();
  for (Connection& first : connections_) {
    if (!first.waiting || first.visitor->devices[first.waiting->device].fresh.next() > now) continue;
    const std::size_t device = first.waiting->device;
    read_for(*first.visitor, device);
    for (Connection& one : connections_)
      if (one.visitor == first.visitor && one.waiting && one.waiting->device == device) {
        const std::string message = answer_to(*one.waiting, one);
        one.finished = one.finished || ::send(one.descriptor, message.data(), message.size(), MSG_DONTWAIT | MSG_NOSIGNAL) < 0;
        one.waiting.reset();
      }
  }
}

std::vector<DeviceProcess> MeterSocket::processes_for(const Visitor& visitor, std::size_t device) const {
  std::vector<DeviceProcess> users = devices_.all()[device].meter->last_processes();
  if (visitor.scope != MeterScope::read_all)
    std::erase_if(users, [&](const DeviceProcess& one) { return !belongs_to(one.pid, visitor.peer.user); });
  return users;
}

}  // namespace joulery
