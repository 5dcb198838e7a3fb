// The fields of /v1/responses.
#pragma once

#include "server/fields.h"

namespace trine::server {

extern const FieldTable kResponsesRequest;

}  // namespace trine::server
