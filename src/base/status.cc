#include "trine/status.h"

namespace trine {

const char* code_name(Code code) {
  switch (code) {
    case Code::kOk: return "ok";
    case Code::kInvalidArgument: return "invalid argument";
    case Code::kNotFound: return "not found";
    case Code::kCorrupt: return "corrupt";
    case Code::kUnsupported: return "unsupported";
    case Code::kOutOfMemory: return "out of memory";
    case Code::kIo: return "i/o error";
    case Code::kCancelled: return "cancelled";
    case Code::kBusy: return "busy";
    case Code::kNotFinite: return "not finite";
    case Code::kInternal: return "internal error";
  }
  return "unknown";
}

std::string Status::to_string() const {
  return ok() ? "ok" : std::string(code_name(code_)) + ": " + message_;
}

Status Status::with_context(const std::string& context) const {
  return ok() ? *this : Status(code_, context + ": " + message_);
}

}  // namespace trine
