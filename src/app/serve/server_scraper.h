// Looks at a model server's metrics: which server, how often, and what its page says just now.
#pragma once

#include <string>

#include "config/settings.h"
#include "core/result.h"
#include "sense/remote/http.h"
#include "watch/serving/server_kinds.h"

namespace joulery {

struct ServerChoice {
  std::string name;                  // of its section; "" where only an address was given
  std::string url;
  const ServerKind* kind = nullptr;  // null: told by its page
  Duration interval = milliseconds(1000), timeout = milliseconds(2000);
  HttpAccess access;
};

// The section [servers.NAME]. `warning`: what is not well about its secret's file. Errors: usage; those of read_http_access().
Result<ServerChoice> read_server(const Settings& settings, const std::string& name, std::string& warning);
// An address as the user writes it: without a path, /metrics is meant. Errors: usage.
Result<ServerChoice> server_at(const std::string& url);

class ServerScraper {
 public:
  // Errors: unsupported, where libcurl is not there.
  static Result<ServerScraper> open(ServerChoice choice);

  struct Look {
    MonoTime at;                     // the middle of the exchange
    ServerPage page;
  };
  Answer<Look> look();
  const ServerChoice& choice() const { return choice_; }
  // What the server is: as chosen, or as its page told; null before.
  const ServerKind* kind() const { return choice_.kind; }

 private:
  ServerScraper(ServerChoice choice, HttpClient client) : choice_(std::move(choice)), client_(std::move(client)) {}
  ServerChoice choice_;
  HttpClient client_;
};

}  // namespace joulery
