#include "sense/google/grpc_client.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "sense/parse_number.h"
#include "sense/shared_library.h"

namespace joulery {
namespace {

// Numbers of libcurl's stable binary interface (curl.h of any 7.x and 8.x).
enum Option : int {
  write_data = 10001,
  url = 10002,
  post_fields = 10015,
  http_header = 10023,
  header_data = 10029,
  no_proxy = 10177,
  write_function = 20011,
  header_function = 20079,
  post_field_size = 60,
  http_version = 84,
  fresh_connect = 74,
  forbid_reuse = 75,
  no_signal = 99,
  timeout_ms = 155,
};
constexpr long http_2_prior_knowledge = 5;
constexpr int curl_ok = 0, could_not_resolve = 6, could_not_connect = 7, write_error = 23, operation_timed_out = 28, header_overflow = 100;
constexpr std::size_t largest_answer = 1 << 20;

}  // namespace

struct CurlApi {
  void* (*easy_init)();
  int (*set)(void*, int, ...);
  int (*perform)(void*);
  void (*cleanup)(void*);
  void (*reset)(void*);
  void* (*append)(void*, const char*);
  void (*free_list)(void*);
};

namespace {

struct Answer {
  std::string body;
  std::optional<int> grpc_status;
};

std::size_t take_body(char* data, std::size_t size, std::size_t count, void* to) {
  auto& body = static_cast<Answer*>(to)->body;
  if (body.size() + size * count > largest_answer) return 0;  // ends the transfer
  body.append(data, size * count);
  return size * count;
}

// Headers and trailers come one by one: "grpc-status: 0".
std::size_t take_header(char* data, std::size_t size, std::size_t count, void* to) {
  constexpr std::string_view key = "grpc-status:";
  std::string_view line(data, size * count);
  if (line.starts_with(key)) {
    const std::string_view value = trim_start(trim_end(line.substr(key.size())));
    static_cast<Answer*>(to)->grpc_status = parse_whole<int>(value);
  }
  return size * count;
}

std::string framed(std::string_view message) {
  std::string frame(1, '\0');  // not compressed
  for (const int shift : {24, 16, 8, 0}) frame += static_cast<char>(message.size() >> shift & 0xff);
  return frame.append(message);
}

std::expected<std::string, MissingReason> unframed(std::string_view frame) {
  if (frame.size() < 5 || frame[0] != '\0') return std::unexpected(MissingReason::rubbish);
  std::size_t size = 0;
  for (std::size_t i = 1; i < 5; ++i) size = size << 8 | static_cast<unsigned char>(frame[i]);
  if (size != frame.size() - 5) return std::unexpected(MissingReason::rubbish);
  return std::string(frame.substr(5));
}

MissingReason reason_of(int curl_code) {
  switch (curl_code) {
    case could_not_resolve:
    case could_not_connect: return MissingReason::gone;
    case operation_timed_out: return MissingReason::timed_out;
    case write_error:
    case header_overflow: return MissingReason::rubbish;
    default: return curl_code < 20 ? MissingReason::rubbish : MissingReason::io_error;  // below: what came was no HTTP/2
  }
}

MissingReason reason_of_grpc(int status) {
  switch (status) {
    case 4: return MissingReason::timed_out;       // DEADLINE_EXCEEDED
    case 5:                                        // NOT_FOUND
    case 3:                                        // INVALID_ARGUMENT: a metric that it does not know
    case 12: return MissingReason::not_supported;  // UNIMPLEMENTED
    case 7:
    case 16: return MissingReason::permission;     // PERMISSION_DENIED, UNAUTHENTICATED
    default: return MissingReason::io_error;
  }
}

}  // namespace

std::unique_ptr<GrpcClient> GrpcClient::make(Duration timeout) {
  auto curl = std::make_unique<CurlApi>();
  const auto library = SharedLibrary::open({"libcurl.so.4", "libcurl-gnutls.so.4"});
  library.find(curl->easy_init, "curl_easy_init");
  library.find(curl->set, "curl_easy_setopt");
  library.find(curl->perform, "curl_easy_perform");
  library.find(curl->cleanup, "curl_easy_cleanup");
  library.find(curl->reset, "curl_easy_reset");
  library.find(curl->append, "curl_slist_append");
  library.find(curl->free_list, "curl_slist_free_all");
  if (!curl->easy_init || !curl->set || !curl->perform || !curl->cleanup || !curl->reset || !curl->append || !curl->free_list)
    return nullptr;
  void* handle = curl->easy_init();
  if (!handle) return nullptr;
  return std::unique_ptr<GrpcClient>(new GrpcClient(std::move(curl), handle, timeout));
}

GrpcClient::GrpcClient(std::unique_ptr<CurlApi> curl, void* handle, Duration timeout)
    : curl_(std::move(curl)), handle_(handle), timeout_(timeout) {}

GrpcClient::~GrpcClient() { curl_->cleanup(handle_); }

std::expected<std::string, MissingReason> GrpcClient::call(const std::string& host_and_port, std::string_view method,
                                                           std::string_view message) {
  const std::string address = "http://" + host_and_port + std::string(method), body = framed(message);
  Answer answer;
  curl_->reset(handle_);
  void* headers = curl_->append(nullptr, "content-type: application/grpc");
  headers = curl_->append(headers, "te: trailers");
  curl_->set(handle_, url, address.c_str());
  curl_->set(handle_, http_version, http_2_prior_knowledge);
  curl_->set(handle_, no_proxy, "*");  // the service is on this machine, whatever the environment says of proxies
  curl_->set(handle_, no_signal, 1L);
  curl_->set(handle_, fresh_connect, 1L);  // libcurl 7.88 fails on a second request over a connection with prior knowledge
  curl_->set(handle_, forbid_reuse, 1L);
  curl_->set(handle_, timeout_ms, static_cast<long>(std::max<std::int64_t>(1, timeout_.base_units() / 1'000'000)));
  curl_->set(handle_, http_header, headers);
  curl_->set(handle_, post_fields, body.data());
  curl_->set(handle_, post_field_size, static_cast<long>(body.size()));
  curl_->set(handle_, write_function, take_body);
  curl_->set(handle_, write_data, static_cast<void*>(&answer));
  curl_->set(handle_, header_function, take_header);
  curl_->set(handle_, header_data, static_cast<void*>(&answer));
  const int code = curl_->perform(handle_);
  curl_->free_list(headers);
  if (code != curl_ok) return std::unexpected(reason_of(code));
  if (!answer.grpc_status) return std::unexpected(MissingReason::rubbish);
  if (*answer.grpc_status != 0) return std::unexpected(reason_of_grpc(*answer.grpc_status));
  return unframed(answer.body);
}

}  // namespace joulery
