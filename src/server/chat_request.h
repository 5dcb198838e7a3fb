// The fields of /v1/chat/completions and /v1/completions.
#pragma once

#include "server/fields.h"

namespace trine::server {

extern const FieldTable kChatRequest;
extern const FieldTable kCompletionRequest;

}  // namespace trine::server
