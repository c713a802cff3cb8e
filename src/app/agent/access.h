// Who may read what of the agent.
//
// On loopback anyone on the machine may ask, and is told rounded figures; who shows the token is told all. Beyond loopback
// nobody is told anything without the token. A loopback listener answers only to names of this machine: a page in a browser
// could else reach it under a name of its own (DNS rebinding).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/agent/http_message.h"
#include "config/secret.h"

namespace joulery {

class Access {
 public:
  // `hosts`: further names by which a loopback listener may be called, in lower case.
  Access(std::optional<Secret> token, std::vector<std::string> hosts);

  struct Verdict {
    int status = 0;        // 0: may read; else the answer's status
    bool trusted = false;  // has shown the token
    const char* why = "";
    const char* hint = "";
  };
  Verdict judge(const HttpRequest& request, bool loopback) const;

 private:
  bool is_token(std::string_view shown) const;  // in a time that does not depend on what is shown
  std::optional<Secret> token_;
  std::vector<std::string> hosts_;
};

// "localhost:9787", "127.0.0.2", "[::1]:9787": a name of this machine, whoever answers for names.
bool is_loopback_host(std::string_view host);

}  // namespace joulery
