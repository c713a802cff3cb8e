#include "app/agent/socket.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <utility>

namespace joulery {
namespace {

int int_size(std::size_t size) { return static_cast<int>(std::min<std::size_t>(size, std::numeric_limits<int>::max())); }

std::string last_reason() {
  const unsigned long code = ::ERR_get_error();
  ::ERR_clear_error();
  const char* reason = code == 0 ? nullptr : ::ERR_reason_error_string(code);
  return reason ? reason : "no reason given";
}

Result<void> check_key(const std::string& file) {
  struct stat status{};
  if (::stat(file.c_str(), &status) != 0) return std::unexpected(error_from_errno(errno, "cannot read the private key", file));
  if ((status.st_mode & (S_IROTH | S_IWOTH | S_IWGRP)) != 0)
    return fail(ErrorCode::permission, "the private key is open to others", file,
                "chmod 640 " + file + "; then make a new key, for others may have read it");
  return {};
}

}  // namespace

void TlsIdentity::Free::operator()(ssl_ctx_st* context) const { ::SSL_CTX_free(context); }
void Socket::Free::operator()(ssl_st* session) const { ::SSL_free(session); }

Result<TlsIdentity> TlsIdentity::load(const std::string& certificate_file, const std::string& key_file) {
  if (::access(certificate_file.c_str(), R_OK) != 0)
    return std::unexpected(error_from_errno(errno, "cannot read the certificate", certificate_file));
  if (auto good = check_key(key_file); !good) return std::unexpected(good.error());
  TlsIdentity identity;
  identity.context_.reset(::SSL_CTX_new(::TLS_server_method()));
  ssl_ctx_st* context = identity.context_.get();
  if (!context || ::SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) != 1)
    return fail(ErrorCode::internal, "cannot set TLS up: " + last_reason());
  ::SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_IGNORE_UNEXPECTED_EOF);
  ::SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
  if (::SSL_CTX_use_certificate_chain_file(context, certificate_file.c_str()) != 1)
    return fail(ErrorCode::format, "cannot use the certificate: " + last_reason(), certificate_file,
                "it must be PEM, the server's own first");
  if (::SSL_CTX_use_PrivateKey_file(context, key_file.c_str(), SSL_FILETYPE_PEM) != 1)
    return fail(ErrorCode::format, "cannot use the private key: " + last_reason(), key_file, "it must be PEM, and that of the certificate");
  if (::SSL_CTX_check_private_key(context) != 1) return fail(ErrorCode::format, "the private key is not that of the certificate", key_file);
  return identity;
}

Socket::Socket(int descriptor, const TlsIdentity* identity) : descriptor_(descriptor) {
  if (!identity) return;
  session_.reset(::SSL_new(identity->context()));
  if (session_ && ::SSL_set_fd(session_.get(), descriptor_) == 1)
    ::SSL_set_accept_state(session_.get());
  else
    ::shutdown(descriptor_, SHUT_RDWR);  // never plain where TLS was asked for
}

Socket::Socket(Socket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)), session_(std::move(other.session_)) {}

Socket::~Socket() {
  if (session_) ::SSL_shutdown(session_.get());
  session_.reset();
  if (descriptor_ >= 0) ::close(descriptor_);
}

IoResult Socket::outcome(int result) const {
  if (result > 0) return {Io::done, static_cast<std::size_t>(result)};
  const int why = ::SSL_get_error(session_.get(), result);
  ::ERR_clear_error();
  if (why == SSL_ERROR_WANT_READ) return {Io::wants_read, 0};
  if (why == SSL_ERROR_WANT_WRITE) return {Io::wants_write, 0};
  return {Io::closed, 0};
}

IoResult Socket::shake_hands() {
  if (!session_) return {Io::done, 0};
  ::ERR_clear_error();
  return outcome(::SSL_do_handshake(session_.get()));
}

IoResult Socket::read(std::span<char> into) {
  if (session_) {
    ::ERR_clear_error();
    return outcome(::SSL_read(session_.get(), into.data(), int_size(into.size())));
  }
  const ssize_t got = ::recv(descriptor_, into.data(), into.size(), MSG_DONTWAIT);
  if (got > 0) return {Io::done, static_cast<std::size_t>(got)};
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return {Io::wants_read, 0};
  return {Io::closed, 0};
}

IoResult Socket::write(std::string_view bytes) {
  if (session_) {
    ::ERR_clear_error();
    return outcome(::SSL_write(session_.get(), bytes.data(), int_size(bytes.size())));
  }
  const ssize_t sent = ::send(descriptor_, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  if (sent >= 0) return {Io::done, static_cast<std::size_t>(sent)};
  if (errno == EAGAIN || errno == EINTR) return {Io::wants_write, 0};
  return {Io::closed, 0};
}

}  // namespace joulery
