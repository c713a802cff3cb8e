#include "app/serve/watched_server.h"

namespace joulery {
namespace {

void add(std::optional<double>& to, const std::optional<double>& more) {
  if (more) to = to.value_or(0) + *more;
}

}  // namespace

void ServedSoFar::book(const ServedCounts& done, MonoTime at, ServeSession& session) {
  session.add_work("output token", done.tokens_out.value_or(0), at);
  if (done.tokens_in && done.tokens_out) session.add_work("token", *done.tokens_in + *done.tokens_out, at);
  session.add_work("request", done.requests.value_or(0), at);
  add(tokens_out, done.tokens_out);
  add(requests, done.requests);
}

}  // namespace joulery
