// The agent's HTTP side as one piece: what is configured, checked before anything listens; then a server with its API.
//
// Invariant: no figure leaves the machine without TLS and a token: an address beyond loopback is refused without both.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/agent/node_view.h"
#include "config/secret.h"
#include "config/settings.h"
#include "core/result.h"

namespace joulery {

struct ServeOptions {
  std::vector<std::string> listen;  // none: 127.0.0.1:9787 and, where there is IPv6, [::1]:9787
  std::string certificate, key;     // PEM files
  std::optional<Secret> token;
  std::vector<std::string> hosts;   // names by which a loopback listener may be called, beside localhost
  std::string version;              // of the program
  std::vector<std::string> warnings;
};

// From agent.listen, agent.tls_cert, agent.tls_key, agent.token_file, agent.token_env, agent.hosts. Errors: those of
// read_secret; usage, for a token that is too short to be one.
Result<ServeOptions> serve_options(const Settings& settings);

class AgentServer {
 public:
  // `history` may be null: then /api/v1/query says that nothing is stored. Both must outlive the server. Errors: usage, for
  // an address beyond loopback without TLS or token; those of the certificate; busy, permission, where it cannot listen.
  static Result<std::unique_ptr<AgentServer>> start(ServeOptions options, const NodeView& node, HistorySource* history);
  ~AgentServer();
  // "http://127.0.0.1:9787", with the real ports.
  std::vector<std::string> addresses() const;
  void tick();  // there is a new account: those who follow the events are told. From any thread.
  void stop();  // hangs up on everyone; well within a second

 private:
  AgentServer();
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace joulery
