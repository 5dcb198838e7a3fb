// Messages of /v1/chat/completions, checked and brought into the form that render_chat reads.
#pragma once

#include "base/json.h"
#include "server/fields.h"

namespace trine::server {

/// What any message may have.
extern const FieldTable kChatMessage;

/// `messages` passed check_fields with that table. Developer messages become system messages;
/// fields without effect are dropped. Content that a text model cannot read (images, audio, files)
/// is refused.
MaybeProblem read_chat_messages(const json::Value& messages, json::Value* out);

}  // namespace trine::server
