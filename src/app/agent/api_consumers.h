// The parameters kind, top and sort, which /api/v1/consumers and /api/v1/events take alike.
#pragma once

#include "app/agent/http_message.h"
#include "core/result.h"
#include "publish/account_json.h"

namespace joulery {

// `usual` holds where a parameter is not there. Errors: usage.
Result<ConsumerChoice> consumer_choice(const HttpRequest& request, ConsumerChoice usual);

}  // namespace joulery
