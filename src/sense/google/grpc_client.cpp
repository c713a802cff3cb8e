#include "sense/google/grpc_client.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "sense/parse_number.h"
#include "sense/remote/curl_api.h"

namespace joulery {
namespace {

constexpr std::size_t largest_answer = 1 << 20;

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

MissingReason reason_of(CURLcode code) {
  switch (code) {
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_CONNECT: return MissingReason::gone;
    case CURLE_OPERATION_TIMEDOUT: return MissingReason::timed_out;
    case CURLE_WRITE_ERROR:
    case static_cast<CURLcode>(100): return MissingReason::rubbish;  // CURLE_TOO_LARGE, since 8.6: a header without an end
    default: return code < 20 ? MissingReason::rubbish : MissingReason::io_error;  // below: what came was no HTTP/2
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
  const CurlApi* api = curl();
  CURL* handle = api ? api->init() : nullptr;
  if (!handle) return nullptr;
  return std::unique_ptr<GrpcClient>(new GrpcClient(*api, handle, timeout));
}

GrpcClient::GrpcClient(const CurlApi& curl, void* handle, Duration timeout) : curl_(curl), handle_(handle), timeout_(timeout) {}

GrpcClient::~GrpcClient() { curl_.cleanup(handle_); }

std::expected<std::string, MissingReason> GrpcClient::call(const std::string& host_and_port, std::string_view method,
                                                           std::string_view message) {
  const std::string address = "http://" + host_and_port + std::string(method), body = framed(message);
  Answer answer;
  curl_.reset(handle_);
  curl_slist* headers = curl_.append(nullptr, "content-type: application/grpc");
  headers = curl_.append(headers, "te: trailers");
  curl_.set_option(handle_, CURLOPT_URL, address.c_str());
  curl_.set_option(handle_, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE));
  curl_.set_option(handle_, CURLOPT_NOPROXY, "*");  // the service is on this machine, whatever the environment says of proxies
  curl_.set_option(handle_, CURLOPT_NOSIGNAL, 1L);
  curl_.set_option(handle_, CURLOPT_FRESH_CONNECT, 1L);  // libcurl 7.88 fails on a second request over a connection with prior knowledge
  curl_.set_option(handle_, CURLOPT_FORBID_REUSE, 1L);
  curl_.set_option(handle_, CURLOPT_TIMEOUT_MS, static_cast<long>(std::max<std::int64_t>(1, timeout_.base_units() / 1'000'000)));
  curl_.set_option(handle_, CURLOPT_HTTPHEADER, headers);
  curl_.set_option(handle_, CURLOPT_POSTFIELDS, body.data());
  curl_.set_option(handle_, CURLOPT_POSTFIELDSIZE, static_cast<long>(body.size()));
  curl_.set_option(handle_, CURLOPT_WRITEFUNCTION, take_body);
  curl_.set_option(handle_, CURLOPT_WRITEDATA, static_cast<void*>(&answer));
  curl_.set_option(handle_, CURLOPT_HEADERFUNCTION, take_header);
  curl_.set_option(handle_, CURLOPT_HEADERDATA, static_cast<void*>(&answer));
  const CURLcode code = curl_.perform(handle_);
  curl_.free_list(headers);
  if (code != CURLE_OK) return std::unexpected(reason_of(code));
  if (!answer.grpc_status) return std::unexpected(MissingReason::rubbish);
  if (*answer.grpc_status != 0) return std::unexpected(reason_of_grpc(*answer.grpc_status));
  return unframed(answer.body);
}

}  // namespace joulery
