#include "sense/agent/meter_connection.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <utility>

namespace joulery {
namespace {

constexpr const char* clocks_differ = "its clock is not this process's: one of the two runs in a time namespace of its own";

// Waits until there is something to read; false at the deadline.
bool wait_to_read(int descriptor, MonoTime deadline) {
  for (;;) {
    const std::int64_t left = (deadline - mono_now()).base_units();
    if (left <= 0) return false;
    pollfd one{descriptor, POLLIN, 0};
    const int ready = ::poll(&one, 1, static_cast<int>(left / 1'000'000 + 1));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return true;  // the read will say why
  }
}

}  // namespace

std::string user_meter_socket() {
  const char* folder = std::getenv("XDG_RUNTIME_DIR");
  return folder && folder[0] == '/' ? std::string(folder) + "/joulery/meters.sock" : "";
}

Result<std::vector<std::string>> meter_socket_paths(const Settings& settings) {
  const auto set = settings.text("agent.meters.socket");
  if (!set) return std::unexpected(set.error());
  if (*set) return **set == "" ? std::vector<std::string>() : std::vector<std::string>{**set};
  std::vector<std::string> paths{system_meter_socket};
  if (std::string own = user_meter_socket(); !own.empty()) paths.push_back(std::move(own));
  return paths;
}

MeterConnection::MeterConnection(MeterConnection&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), serial_(other.serial_), hello_(std::move(other.hello_)) {}

MeterConnection& MeterConnection::operator=(MeterConnection&& other) noexcept {
  if (this == &other) return *this;
  close();
  descriptor_ = std::exchange(other.descriptor_, -1);
  serial_ = other.serial_;
  hello_ = std::move(other.hello_);
  return *this;
}

MeterConnection::~MeterConnection() { close(); }

void MeterConnection::close() {
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = -1;
}

Result<MeterConnection> MeterConnection::open(const std::string& path, Duration limit) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path)
    return fail(ErrorCode::usage, "no path of a socket", path, "agent.meters.socket takes at most 107 characters");
  path.copy(address.sun_path, path.size());
  const int descriptor = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (descriptor < 0) return std::unexpected(error_from_errno(errno, "cannot make a socket", path));
  // Never waits: where too many wait to be let in, it fails.
  if (::connect(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return over(descriptor, path, limit);
  const int number = errno;
  ::close(descriptor);
  if (number == ENOENT || number == ECONNREFUSED || number == ENOTDIR)
    return fail(ErrorCode::not_found, "no agent gives its meters here", path);
  return std::unexpected(error_from_errno(number, "cannot reach the agent of this node", path));
}

Result<MeterConnection> MeterConnection::over(int descriptor, const std::string& path, Duration limit) {
  MeterConnection connection(descriptor);
  const MonoTime begin = mono_now();
  const auto message = connection.receive(begin + limit);
  if (!message) return fail(ErrorCode::io, fmt::format("the agent of this node: {}", joulery::describe(message.error())), path);
  auto hello = parse_meter_hello(*message);
  if (!hello) return fail(ErrorCode::format, "who answers here is no agent of this version", path);
  connection.hello_ = *std::move(hello);
  if (!connection.hello_.refused.empty()) return fail(ErrorCode::permission, connection.hello_.refused, path);
  // The agent may have been asked a moment before, while it was busy; never after.
  const MonoTime told = connection.hello_.now, now = mono_now();
  if (told > now || begin - told > limit) return fail(ErrorCode::unsupported, clocks_differ, path);
  return connection;
}

std::unexpected<MissingReason> MeterConnection::lost(MissingReason reason) {
  close();
  return std::unexpected(reason);
}

MeterConnection::Answer<std::string> MeterConnection::receive(MonoTime deadline) {
  std::string message(longest_meter_message, '\0');
  for (;;) {
    const ssize_t size = ::recv(descriptor_, message.data(), message.size(), MSG_DONTWAIT | MSG_TRUNC);
    if (size > static_cast<ssize_t>(message.size())) return lost(MissingReason::rubbish);
    if (size > 0) {
      message.resize(static_cast<std::size_t>(size));
      return message;
    }
    if (size == 0 || (errno != EAGAIN && errno != EINTR)) return lost(MissingReason::gone);
    if (!wait_to_read(descriptor_, deadline)) return lost(MissingReason::timed_out);
  }
}

MeterConnection::Answer<std::string> MeterConnection::ask(MeterWord word, std::size_t device, Duration limit) {
  if (!alive()) return std::unexpected(MissingReason::gone);
  const MeterHead request{word, static_cast<std::uint16_t>(device), ++serial_};
  return answer_to(request, to_message(request), limit);
}

MeterConnection::Answer<std::string> MeterConnection::answer_to(const MeterHead& request, const std::string& message, Duration limit) {
  if (::send(descriptor_, message.data(), message.size(), MSG_DONTWAIT | MSG_NOSIGNAL) < 0) return lost(MissingReason::gone);
  auto answer = receive(mono_now() + limit);
  if (answer && parse_meter_head(*answer) != request) return lost(MissingReason::rubbish);
  return answer;
}

MeterConnection::Answer<SharedDevice> MeterConnection::describe(std::size_t device, Duration limit) {
  const auto answer = ask(MeterWord::describe, device, limit);
  if (!answer) return std::unexpected(answer.error());
  auto told = parse_shared_device(*answer);
  if (!told) return lost(MissingReason::rubbish);
  return *std::move(told);
}

MeterConnection::Answer<std::vector<Reading>> MeterConnection::readings(std::size_t device, std::size_t channels, Duration limit) {
  const auto answer = ask(MeterWord::readings, device, limit);
  if (!answer) return std::unexpected(answer.error());
  auto told = parse_shared_readings(*answer, channels);
  if (!told) return lost(MissingReason::rubbish);
  return *std::move(told);
}

MeterConnection::Answer<std::vector<DeviceProcess>> MeterConnection::processes(std::size_t device, Duration limit) {
  const auto answer = ask(MeterWord::processes, device, limit);
  if (!answer) return std::unexpected(answer.error());
  auto told = parse_shared_processes(*answer);
  if (!told) return lost(MissingReason::rubbish);
  return *std::move(told);
}

MeterConnection::Answer<std::vector<PowerLimit>> MeterConnection::limits(Duration limit) {
  const auto answer = ask(MeterWord::limits, 0, limit);
  if (!answer) return std::unexpected(answer.error());
  auto told = parse_power_limits(*answer);
  if (!told) return lost(MissingReason::rubbish);
  return *std::move(told);
}

MeterConnection::Answer<Result<LimitTaken>> MeterConnection::take_limit(const LimitRequest& wanted, Duration limit) {
  if (!alive()) return std::unexpected(MissingReason::gone);
  const MeterHead request{MeterWord::limit, 0, ++serial_};
  const auto answer = answer_to(request, to_message(request, wanted), limit);
  if (!answer) return std::unexpected(answer.error());
  auto told = parse_limit_answer(*answer);
  if (!told) return lost(MissingReason::rubbish);
  return *std::move(told);
}

MeterConnection::Answer<std::vector<Undone>> MeterConnection::give_back(Duration limit) {
  const auto answer = ask(MeterWord::give_back, 0, limit);
  if (!answer) return std::unexpected(answer.error());
  auto told = parse_undone(*answer);
  if (!told) return lost(MissingReason::rubbish);
  return *std::move(told);
}

}  // namespace joulery
