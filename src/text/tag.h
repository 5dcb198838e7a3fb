// The head of an XTML element: what stands between <|open|> or <|close|> and <|sep|>.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace trine {

struct Tag {
  enum class Name { kThink, kResponse, kTools, kCall, kArgument, kJson, kMessage };
  Name name = Name::kMessage;
  std::vector<std::pair<std::string, std::string>> attributes;  // values un-escaped

  /// The attribute's value, empty if it is absent.
  std::string attribute(std::string_view key) const;

  /// The tag, or none if the head is not one of the format's elements.
  static std::optional<Tag> parse(std::string_view head);
  /// True if `head` is cut off and could have become a tag.
  static bool may_begin(std::string_view head);
};

}  // namespace trine
