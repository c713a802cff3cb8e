// OpenSSL's client side behind a table of functions, loaded at run time: the main program links none, and only a proxy before an
// https server needs it. Declarations are our own (OpenSSL's documented ABI, the same in 1.1 and 3), so that no headers are needed either.
#pragma once

#include <cstddef>

extern "C" {
struct ssl_st;
struct ssl_ctx_st;
struct ssl_method_st;
struct X509_VERIFY_PARAM_st;
}

namespace joulery {

struct TlsApi {
  const ssl_method_st* (*client_method)();
  ssl_ctx_st* (*new_context)(const ssl_method_st*);
  void (*free_context)(ssl_ctx_st*);
  long (*control_context)(ssl_ctx_st*, int command, long number, void* pointer);
  void (*set_verify)(ssl_ctx_st*, int mode, int (*)(int, void*));
  int (*use_system_trust)(ssl_ctx_st*);
  int (*use_trust_file)(ssl_ctx_st*, const char* file, const char* folder);
  ssl_st* (*new_session)(ssl_ctx_st*);
  void (*free_session)(ssl_st*);
  long (*control_session)(ssl_st*, int command, long number, void* pointer);
  int (*set_descriptor)(ssl_st*, int);
  int (*expect_name)(ssl_st*, const char*);
  X509_VERIFY_PARAM_st* (*verify_parameters)(ssl_st*);
  int (*expect_address)(X509_VERIFY_PARAM_st*, const char*);
  void (*set_client)(ssl_st*);
  int (*shake_hands)(ssl_st*);
  int (*read)(ssl_st*, void*, int);
  int (*write)(ssl_st*, const void*, int);
  int (*pending)(const ssl_st*);
  int (*error_of)(const ssl_st*, int);
  int (*shut_down)(ssl_st*);
  long (*verify_result)(const ssl_st*);
  const char* (*verify_text)(long);
  unsigned long (*next_error)();
  const char* (*reason_of)(unsigned long);
  void (*clear_errors)();
};

// What its headers call SSL_CTRL_…, SSL_MODE_… and so on.
inline constexpr int tls_set_mode = 33, tls_set_server_name = 55, tls_set_least_version = 123;
inline constexpr long tls_version_1_2 = 0x0303, tls_partial_moving_writes = 1 | 2, tls_host_name = 0;
inline constexpr int tls_verify_none = 0, tls_verify_peer = 1;
inline constexpr int tls_wants_read = 2, tls_wants_write = 3, tls_closed = 6;

// The library; null where it is not there.
const TlsApi* tls_api();

}  // namespace joulery
