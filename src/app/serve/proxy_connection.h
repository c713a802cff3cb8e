// One client of the proxy and its way to the server behind: reads a request, passes it on, passes the answer back as it comes,
// and times it. It never waits: step() does what can be done now.
//
// An answer in JSON is held until it is whole (at most `most_held_bytes`, and it comes in one go anyway), so that a header can
// say what it has cost; all others are passed on as they come. A client who hangs up takes the request behind with it.
//
// Invariant: memory is bounded in each direction: nothing is read from one side while the other has not taken what is there.
#pragma once

#include <optional>
#include <string>

#include "app/serve/relay_message.h"
#include "app/serve/server_link.h"
#include "app/serve/upstream.h"
#include "core/time.h"
#include "watch/serving/answer_tokens.h"
#include "watch/serving/served_request.h"

namespace joulery {

// A request that has ended, one way or another.
struct ProxiedRequest {
  ServedRequest request;
  MonoTime start, end;
  std::string tokens_source;    // "usage", "pieces", ""
  int status = 0;               // 0: no answer
  bool work = false;            // asked for an answer that a model computes: POST, answered by 2xx or broken off by the client
  std::string trouble;          // why there is no whole answer; "" where there is
};

// What a connection tells of its requests as they go.
class ProxyEvents {
 public:
  virtual ~ProxyEvents() = default;
  virtual void began(MonoTime at) = 0;                              // something that may be work is behind
  // A value for the header `Joulery-Joules` of what began then and is about to end; "" where nothing is known.
  virtual std::string joules_since(double begun) = 0;
  virtual double meter() = 0;                                       // joules of one request in work so far: for joules_since()
  virtual void ended(ProxiedRequest request, bool was_work) = 0;    // of each began(), and of all others too
};

class ProxyConnection {
 public:
  ProxyConnection(int client, const Upstream& upstream, ProxyEvents& events, MonoTime now);
  ~ProxyConnection();
  ProxyConnection(const ProxyConnection&) = delete;
  ProxyConnection& operator=(const ProxyConnection&) = delete;

  int client() const { return client_; }
  int server() const { return server_.descriptor(); }    // -1 where there is none
  short client_events() const;
  short server_events() const;
  MonoTime deadline() const { return deadline_; }
  bool finished() const { return finished_; }
  bool idle() const { return stage_ == Stage::head && in_.empty(); }
  // True where step() has something to do that poll does not show.
  bool ready() const { return server_.holds_bytes() && reads_server(); }
  void step(short client_happened, short server_happened, MonoTime now);
  void expire(MonoTime now);

 private:
  enum class Stage : std::uint8_t { head, relay, farewell };  // farewell: an answer of our own, then the end
  void read_client();
  void read_head(MonoTime now);
  void connect_server(MonoTime now);
  void forward_body();
  void read_server();
  void read_answer(MonoTime now);
  void begin_answer(RelayHead head, MonoTime now);
  void pass_on(std::string_view body, MonoTime now);
  void end_answer(MonoTime now);
  void server_gone(const std::string& why, MonoTime now);
  void refuse(int status, const std::string& why, MonoTime now);
  bool reads_server() const;
  void write_server();
  void write_client();
  void next_request(MonoTime now);
  void tell_end(MonoTime now, const std::string& trouble, bool refused = false);
  void close_server();
  WallTime wall(MonoTime t) const { return clocks_.to_wall(t); }

  int client_;
  ServerLink server_;
  const Upstream& upstream_;
  ProxyEvents& events_;
  ClockMap clocks_ = ClockMap::now();
  Stage stage_ = Stage::head;
  bool finished_ = false, client_done_ = false, server_done_ = false, reused_ = false;
  MonoTime deadline_;
  std::string in_, out_, up_in_, up_out_;
  std::size_t out_sent_ = 0, up_sent_ = 0;

  // Of the request in work.
  RelayHead request_;
  std::optional<BodyReader> request_body_, answer_body_;
  std::optional<RelayHead> answer_;
  std::optional<AnswerTokens> tokens_;
  std::string asked_;                 // the beginning of the request's body
  std::string again_;                 // what was sent, while it may be sent again
  std::string held_;                  // an answer that is held
  bool holding_ = false, chunked_out_ = false, trailer_ = false, may_work_ = false, told_ = true, answer_done_ = false;
  MonoTime start_;
  double meter_ = 0;
};

}  // namespace joulery
