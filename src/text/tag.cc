// Heads of elements: NAME { blank KEY="VALUE" }. A little more is understood than the format allows
// (order, unquoted values, a bare quote inside a value), because models make such slips.
#include "text/tag.h"

#include <algorithm>
#include <array>

namespace trine {
namespace {

constexpr std::array<std::pair<std::string_view, Tag::Name>, 7> kNames = {{
    {"think", Tag::Name::kThink},
    {"response", Tag::Name::kResponse},
    {"tools", Tag::Name::kTools},
    {"call", Tag::Name::kCall},
    {"argument", Tag::Name::kArgument},
    {"json", Tag::Name::kJson},
    {"message", Tag::Name::kMessage},
}};

void replace_all(std::string_view from, char to, std::string* text) {
  std::string out;
  size_t done = 0;
  for (size_t at = text->find(from); at != text->npos; at = text->find(from, done)) {
    out.append(*text, done, at - done);
    out += to;
    done = at + from.size();
  }
  out.append(*text, done);
  *text = std::move(out);
}

std::string unescape(std::string_view value) {
  std::string out(value);
  replace_all("&quot;", '"', &out);
  replace_all("&amp;", '&', &out);
  return out;
}

// Takes KEY="VALUE" from the front of `rest`, which starts with a blank.
bool take_attribute(std::string_view* rest, Tag* tag) {
  rest->remove_prefix(std::min(rest->find_first_not_of(' '), rest->size()));
  if (rest->empty()) return true;
  const size_t equals = rest->find('=');
  if (equals == rest->npos || equals == 0) return false;
  const std::string key(rest->substr(0, equals));
  rest->remove_prefix(equals + 1);
  size_t end = 0;
  size_t quotes = 0;
  if (rest->starts_with('"')) {
    rest->remove_prefix(1);
    quotes = 1;
    end = rest->find("\" ");  // a quote ends the value only before a blank or at the end
    if (end == rest->npos) {
      if (!rest->ends_with('"')) return false;
      end = rest->size() - 1;
    }
  } else {
    end = std::min(rest->find(' '), rest->size());
  }
  tag->attributes.emplace_back(key, unescape(rest->substr(0, end)));
  rest->remove_prefix(end + quotes);
  return true;
}

}  // namespace

std::string Tag::attribute(std::string_view key) const {
  for (const auto& [known, value] : attributes)
    if (known == key) return value;
  return "";
}

std::optional<Tag> Tag::parse(std::string_view head) {
  const std::string_view name = head.substr(0, head.find(' '));
  for (const auto& [known, value] : kNames) {
    if (name != known) continue;
    Tag tag;
    tag.name = value;
    std::string_view rest = head.substr(name.size());
    while (!rest.empty())
      if (!take_attribute(&rest, &tag)) return std::nullopt;
    return tag;
  }
  return std::nullopt;
}

bool Tag::may_begin(std::string_view head) {
  const std::string_view name = head.substr(0, head.find(' '));
  for (const auto& [known, value] : kNames)
    if (name == known || (name.size() == head.size() && known.starts_with(head))) return true;
  return false;
}

}  // namespace trine
