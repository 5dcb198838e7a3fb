// The formats of strings that are promised, as patterns.
#pragma once

#include <string>
#include <string_view>

#include "grammar/char_dfa.h"

namespace trine::grammar {

/// The texts of a format; kInvalidArgument with the list of known ones for any other. Every text is
/// valid by the format's RFC; of e-mail addresses and URIs only the common forms are written.
Result<CharDfa> format_dfa(std::string_view format);

}  // namespace trine::grammar
