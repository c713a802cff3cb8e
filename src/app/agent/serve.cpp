#include "app/agent/serve.h"

#include <filesystem>
#include <utility>

#include "app/agent/api.h"
#include "app/agent/http_server.h"

namespace joulery {
namespace {

constexpr std::size_t shortest_token = 16;

Result<void> check_reach(const ServeOptions& options, const std::vector<ListenAddress>& addresses) {
  if (options.certificate.empty() != options.key.empty())
    return fail(ErrorCode::usage, "TLS needs a certificate and its key", options.certificate.empty() ? "agent.tls_cert" : "agent.tls_key",
                "set both agent.tls_cert and agent.tls_key");
  for (const ListenAddress& address : addresses) {
    if (address.is_loopback()) continue;
    if (options.certificate.empty())
      return fail(ErrorCode::usage, "other machines can reach this address, and there is no TLS", address.text(),
                  "set agent.tls_cert and agent.tls_key, or listen on 127.0.0.1");
    if (!options.token)
      return fail(ErrorCode::usage, "other machines can reach this address, and there is no token", address.text(),
                  "set agent.token_file, or listen on 127.0.0.1");
  }
  return {};
}

// A relative path starts where the file that sets it lies.
Result<std::string> path_setting(const Settings& settings, const std::string& key) {
  const auto written = settings.text(key);
  if (!written) return std::unexpected(written.error());
  if (!*written) return std::string();
  const Origin& origin = settings.find(key)->origin;
  if (origin.line == 0 || (*written)->starts_with('/')) return **written;
  return (std::filesystem::path(origin.name).parent_path() / **written).string();
}

}  // namespace

Result<ServeOptions> serve_options(const Settings& settings) {
  ServeOptions options;
  const auto listen = settings.texts("agent.listen"), hosts = settings.texts("agent.hosts");
  auto certificate = path_setting(settings, "agent.tls_cert"), key = path_setting(settings, "agent.tls_key");
  if (!listen) return std::unexpected(listen.error());
  if (!hosts) return std::unexpected(hosts.error());
  if (!certificate) return std::unexpected(certificate.error());
  if (!key) return std::unexpected(key.error());
  options.listen = listen->value_or(std::vector<std::string>());
  options.hosts = hosts->value_or(std::vector<std::string>());
  options.certificate = *std::move(certificate);
  options.key = *std::move(key);
  auto token = read_secret(settings, "agent", "token");
  if (!token) return std::unexpected(token.error());
  if (!*token) return options;
  if ((*token)->secret.size() < shortest_token)
    return fail(ErrorCode::usage, "the token is too short to be safe: 16 characters or more", "agent.token_file",
                "openssl rand -hex 32 makes one");
  if (!(*token)->warning.empty()) options.warnings.push_back((*token)->warning);
  options.token = std::move((*token)->secret);
  return options;
}

struct AgentServer::Parts {
  std::optional<TlsIdentity> identity;
  std::unique_ptr<Api> api;
  std::unique_ptr<HttpServer> server;
};

AgentServer::AgentServer() : parts_(std::make_unique<Parts>()) {}
AgentServer::~AgentServer() { stop(); }

Result<std::unique_ptr<AgentServer>> AgentServer::start(ServeOptions options, const NodeView& node, HistorySource* history) {
  const bool usual = options.listen.empty();
  if (usual) options.listen = {"127.0.0.1", "[::1]"};
  std::vector<ListenAddress> addresses;
  for (const std::string& text : options.listen) {
    auto address = ListenAddress::parse(text);
    if (!address) return std::unexpected(address.error());
    addresses.push_back(*address);
  }
  if (auto good = check_reach(options, addresses); !good) return std::unexpected(good.error());
  std::unique_ptr<AgentServer> made(new AgentServer);
  Parts& parts = *made->parts_;
  if (!options.certificate.empty()) {
    auto identity = TlsIdentity::load(options.certificate, options.key);
    if (!identity) return std::unexpected(identity.error());
    parts.identity = *std::move(identity);
  }
  parts.api = std::make_unique<Api>(Access(std::move(options.token), std::move(options.hosts)), node, history, options.version);
  parts.server = std::make_unique<HttpServer>(*parts.api, parts.identity ? &*parts.identity : nullptr);
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    auto heard = parts.server->listen(addresses[i]);
    const bool does_without = usual && i > 0 && !heard && heard.error().code != ErrorCode::busy;  // a machine without IPv6: no [::1]
    if (!heard && !does_without) return std::unexpected(heard.error());
  }
  if (auto started = parts.server->start(); !started) return std::unexpected(started.error());
  return made;
}

std::vector<std::string> AgentServer::addresses() const {
  std::vector<std::string> all;
  for (const std::string& address : parts_->server->addresses()) all.push_back((parts_->identity ? "https://" : "http://") + address);
  return all;
}

void AgentServer::tick() { parts_->server->wake(); }

void AgentServer::stop() {
  if (parts_->server) parts_->server->stop();
}

}  // namespace joulery
