#include "sense/node/ipmi_device.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/ipmi.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "core/time.h"
#include "core/units.h"
#include "sense/live_file.h"

namespace joulery {
namespace {

Trouble trouble_from_errno(int number, std::string_view doing) {
  return {reason_from_errno(number), fmt::format("{}: {}", doing, std::strerror(number))};
}

class IpmiDevice final : public IpmiTransport {
 public:
  explicit IpmiDevice(std::string path) : path_(std::move(path)) {}
  IpmiDevice(const IpmiDevice&) = delete;
  IpmiDevice& operator=(const IpmiDevice&) = delete;
  ~IpmiDevice() override { close(); }

  Answer<void> open() {
    if (fd_ >= 0) return {};
    fd_ = ::open(path_.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK);
    if (fd_ < 0) return std::unexpected(trouble_from_errno(errno, "cannot open " + path_));
    return {};
  }

  Answer<IpmiReply> exchange(const IpmiRequest& request, Duration limit) override {
    if (const auto opened = open(); !opened) return std::unexpected(opened.error());
    auto reply = send_and_wait(request, limit);
    if (!reply && reply.error().reason != MissingReason::timed_out) close();
    return reply;
  }

 private:
  void close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }

  Answer<IpmiReply> send_and_wait(const IpmiRequest& request, Duration limit) {
    const MonoTime deadline = mono_now() + limit;
    if (const int error = send(request); error != 0) return std::unexpected(trouble_from_errno(error, "cannot send to " + path_));
    for (;;) {
      const Duration left = deadline - mono_now();
      pollfd ready{fd_, POLLIN, 0};
      const int count = left > Duration{} ? ::poll(&ready, 1, static_cast<int>(left.base_units() / 1'000'000) + 1) : 0;
      if (count == 0) return std::unexpected(Trouble{MissingReason::timed_out, "no answer in " + to_text(limit)});
      if (count < 0 && errno != EINTR) return std::unexpected(trouble_from_errno(errno, "cannot wait for " + path_));
      if (count < 0) continue;
      auto reply = receive();
      if (reply || reply.error().reason != MissingReason::none) return reply;
    }
  }

  // errno, 0 where it was sent. The driver gives each message back with the number that it was sent with.
  int send(const IpmiRequest& request) {
    ipmi_system_interface_addr address{};
    address.addr_type = IPMI_SYSTEM_INTERFACE_ADDR_TYPE;
    address.channel = IPMI_BMC_CHANNEL;
    address.lun = request.lun;
    std::vector<std::uint8_t> data = request.data;
    ipmi_req message{};
    message.addr = reinterpret_cast<unsigned char*>(&address);
    message.addr_len = sizeof address;
    message.msgid = ++number_;
    message.msg.netfn = request.net_fn;
    message.msg.cmd = request.command;
    message.msg.data = data.data();
    message.msg.data_len = static_cast<unsigned short>(data.size());
    return ::ioctl(fd_, IPMICTL_SEND_COMMAND, &message) < 0 ? errno : 0;
  }

  // MissingReason::none: what came was not the answer (an event, or the late answer to an earlier message).
  Answer<IpmiReply> receive() {
    std::array<unsigned char, IPMI_MAX_MSG_LENGTH> data{};
    ipmi_addr address{};
    ipmi_recv message{};
    message.addr = reinterpret_cast<unsigned char*>(&address);
    message.addr_len = sizeof address;
    message.msg.data = data.data();
    message.msg.data_len = data.size();
    if (::ioctl(fd_, IPMICTL_RECEIVE_MSG_TRUNC, &message) < 0 && errno != EMSGSIZE) {
      if (errno == EAGAIN || errno == EINTR) return std::unexpected(Trouble{MissingReason::none, ""});
      return std::unexpected(trouble_from_errno(errno, "cannot receive from " + path_));
    }
    if (message.recv_type != IPMI_RESPONSE_RECV_TYPE || message.msgid != number_) return std::unexpected(Trouble{MissingReason::none, ""});
    const std::size_t length = std::min<std::size_t>(message.msg.data_len, data.size());
    if (length == 0) return std::unexpected(Trouble{MissingReason::rubbish, "an answer without a completion code"});
    return IpmiReply{data[0], {data.begin() + 1, data.begin() + static_cast<std::ptrdiff_t>(length)}};
  }

  std::string path_;
  int fd_ = -1;
  long number_ = 0;
};

}  // namespace

Answer<std::unique_ptr<IpmiTransport>> open_ipmi_device(std::string path) {
  auto device = std::make_unique<IpmiDevice>(std::move(path));
  if (const auto opened = device->open(); !opened) return std::unexpected(opened.error());
  return device;
}

}  // namespace joulery
