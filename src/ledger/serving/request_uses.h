// Requests as a server's log tells them, made ready to share energy by: their times on the recording's clock, and what was in
// work when. Pure.
//
// A prompt is read between the moment that its request left the queue and its first token; where the log does not say when it
// left the queue, it waited. The first token comes out of the prompt, the others after it. An answer that came as a whole has its
// tokens anywhere within its time.
#pragma once

#include <span>
#include <vector>

#include "ledger/serving/serving_shares.h"
#include "watch/serving/served_request.h"

namespace joulery {

// One use for each request, in their order. Tokens that were not told are taken to be those of the median request (of the
// median rate, for answers), and the use says so.
std::vector<ServingUse> uses_of(std::span<const ServedRequest> requests, const ClockMap& clocks);

}  // namespace joulery
