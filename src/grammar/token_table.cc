// The vocabulary as a trie in preorder: a walk is one pass over an array that skips dead subtrees.
#include <algorithm>
#include <numeric>
#include <vector>

#include "grammar/automaton.h"
#include "grammar/grammar.h"

namespace trine::grammar {

std::shared_ptr<const TokenTable> TokenTable::build(std::span<const std::string_view> tokens,
                                                    std::span<const int32_t> excluded) {
  const auto t = std::make_shared<TokenTable>();
  std::vector<bool> out(tokens.size(), false);
  for (const int32_t id : excluded)
    if (id >= 0 && static_cast<size_t>(id) < tokens.size()) out[static_cast<size_t>(id)] = true;
  t->size_ = static_cast<int64_t>(tokens.size());
  std::vector<int32_t> order;
  for (size_t i = 0; i < tokens.size(); ++i) {
    t->offsets_.push_back(static_cast<uint32_t>(t->text_.size()));
    if (out[i] || tokens[i].empty() || tokens[i].size() > UINT16_MAX) continue;
    t->text_ += tokens[i];
    t->longest_ = std::max(t->longest_, static_cast<int64_t>(tokens[i].size()));
    order.push_back(static_cast<int32_t>(i));
  }
  t->offsets_.push_back(static_cast<uint32_t>(t->text_.size()));
  std::sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    const std::string_view x = t->bytes(a);
    const std::string_view y = t->bytes(b);
    return x != y ? x < y : a < b;
  });

  std::vector<uint32_t> path;  // nodes from the root to the last one made
  t->nodes_.emplace_back();    // the root
  path.push_back(0);
  const auto close = [&](size_t depth) {
    for (; path.size() > depth; path.pop_back())
      t->nodes_[path.back()].end = static_cast<uint32_t>(t->nodes_.size());
  };
  std::string_view last;
  for (const int32_t id : order) {
    const std::string_view token = t->bytes(id);
    const auto common = static_cast<size_t>(
        std::mismatch(last.begin(), last.end(), token.begin(), token.end()).first - last.begin());
    close(common + 1);
    for (size_t depth = common; depth < token.size(); ++depth) {
      if (!is_plain(static_cast<uint8_t>(token[depth])))
        for (const uint32_t above : path) t->nodes_[above].plain = false;
      t->nodes_[path.back()].leads = true;
      path.push_back(static_cast<uint32_t>(t->nodes_.size()));
      t->nodes_.push_back({0, static_cast<uint32_t>(t->ids_.size()),
                           static_cast<uint16_t>(depth + 1), static_cast<uint8_t>(token[depth]),
                           0});
    }
    t->ids_.push_back(id);
    last = token;
  }
  close(0);
  t->nodes_.push_back({static_cast<uint32_t>(t->nodes_.size()) + 1,
                       static_cast<uint32_t>(t->ids_.size()), 0, 0, false, true});
  return t;
}

std::string_view TokenTable::bytes(int32_t id) const {
  if (id < 0 || id >= size_) return {};
  const auto i = static_cast<size_t>(id);
  return std::string_view(text_).substr(offsets_[i], offsets_[i + 1] - offsets_[i]);
}

int64_t TokenTable::memory_bytes() const {
  return static_cast<int64_t>(text_.size() + offsets_.size() * sizeof(uint32_t) +
                              nodes_.size() * sizeof(Node) + ids_.size() * sizeof(int32_t));
}

}  // namespace trine::grammar
