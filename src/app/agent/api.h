// What the agent answers: /metrics and /api/v1/... One table of paths; each answer is made from one snapshot of the node.
// docs/api/openapi.yaml describes every path, and a test holds the answers against it.
//
// Readers without the token get the rounded account, refreshed once a second at most, so that neither asking often nor
// asking in several ways tells more (publish/rounded_account says why). Invariant: no answer mixes the two accounts.
#pragma once

#include <string>

#include "app/agent/access.h"
#include "app/agent/http_connection.h"
#include "app/agent/node_view.h"
#include "publish/node_metrics.h"
#include "publish/rounded_account.h"

namespace joulery {

// What a handler of one path works with.
struct ApiCall {
  const HttpRequest& request;
  bool trusted = false;
};

class Api : public HttpHandler {
 public:
  Api(Access access, const NodeView& node, HistorySource* history, std::string version);

  HttpAnswer answer(const HttpRequest& request, bool loopback) override;
  HttpAnswer refusal(int status, std::string_view why) override;
  std::string event(const HttpRequest& stream) override;

 private:
  friend struct ApiPaths;  // the table of paths, in api.cpp
  HttpAnswer metrics(const ApiCall& call);
  HttpAnswer node(const ApiCall& call);
  HttpAnswer consumers(const ApiCall& call);
  HttpAnswer meters(const ApiCall& call);
  HttpAnswer servers(const ApiCall& call);
  HttpAnswer health(const ApiCall& call);
  HttpAnswer query(const ApiCall& call);
  HttpAnswer events(const ApiCall& call);
  HttpAnswer start_page(const ApiCall& call);

  // The account for this reader, null where there is none yet.
  const NodeAccount* account(bool trusted);
  void refresh_exact();
  void refresh_open();
  std::string event_text(const HttpRequest& request, bool trusted);

  // An account with the figures for scrapers that are made of it.
  struct Snapshot {
    std::uint64_t generation = 0;
    NodeAccount account;
    NodeMetrics metrics;
  };

  Access access_;
  const NodeView& view_;
  HistorySource* history_;
  std::string version_;
  Snapshot exact_, open_;
  RoundedAccount rounded_;
  MonoTime open_may_change_;
};

// The answer of an error, with its status and as joulery.error/1.
HttpAnswer error_answer(int status, const Error& error);
HttpAnswer error_answer(const Error& error);  // the status that fits its code
HttpAnswer not_ready();

}  // namespace joulery
