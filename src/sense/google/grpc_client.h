// Unary gRPC calls to a service on this machine, over plain HTTP/2 through libcurl, which is loaded at run time. What gRPC
// adds to HTTP/2 is little: a POST with the method as its path, five bytes before the message (compressed or not, and its
// length), and a status in the trailer.
#pragma once

#include <expected>
#include <memory>
#include <string>
#include <string_view>

#include "core/quantity.h"
#include "sense/reading.h"

namespace joulery {

struct CurlApi;

class GrpcClient {
 public:
  // Null where libcurl cannot be loaded.
  static std::unique_ptr<GrpcClient> make(Duration timeout);
  ~GrpcClient();

  // The answer's message. Errors: gone where nobody listens, timed_out, rubbish where the answer is no gRPC, not_supported
  // where the service does not know the method or metric, io_error else. Never longer than the timeout.
  std::expected<std::string, MissingReason> call(const std::string& host_and_port, std::string_view method, std::string_view message);

 private:
  GrpcClient(const CurlApi& curl, void* handle, Duration timeout);
  const CurlApi& curl_;
  void* handle_;
  Duration timeout_;
};

}  // namespace joulery
