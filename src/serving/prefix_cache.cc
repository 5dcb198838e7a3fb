#include "serving/prefix_cache.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/try.h"
#include "serving/evicted_trace.h"

namespace trine::serving {
namespace {

using Tokens = std::span<const int32_t>;

// A node is a snapshot, a place where paths part, or the root.
struct Node {
  Node* parent = nullptr;
  std::vector<int32_t> edge;                          // the tokens between the parent and here
  int64_t depth = 0;                                  // the tokens between the root and here
  std::map<int32_t, std::unique_ptr<Node>> children;  // by the first token of their edges

  std::optional<Snapshot> snapshot;
  SnapshotKind kind = SnapshotKind::kSpacing;
  int64_t clock = 0;  // of the cache at the last use
  uint64_t age = 0;   // key in Impl::by_age
};

int64_t size_of(const auto& container) { return static_cast<int64_t>(container.size()); }

// How much more than its tokens a snapshot is worth, by how likely it is to be asked for: the
// preempted request surely comes back, the end of an answer is where the next turn goes on, the end
// of a prompt where one goes on that drops the reasoning, a fork is a system prompt; the others
// serve edits, which are rare: a turn of a hundred tokens outweighs a spacing of a thousand.
int64_t weight(SnapshotKind kind) {
  switch (kind) {
    case SnapshotKind::kSpacing: return 1;
    case SnapshotKind::kFork: return 8;
    case SnapshotKind::kPromptEnd: return 16;
    case SnapshotKind::kAnswerEnd: return 24;
    case SnapshotKind::kPreempted: return 64;
  }
  return 1;
}

// What goes lost with a snapshot: the tokens since the next shorter one.
int64_t tokens_saved(const Node& node) {
  const Node* shorter = node.parent;
  while (shorter->parent != nullptr && !shorter->snapshot) shorter = shorter->parent;
  return node.depth - shorter->depth;
}

int64_t common_length(Tokens a, Tokens b) {
  const auto end = std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first;
  return end - a.begin();
}

std::vector<int32_t> path_of(const Node& node) {
  std::vector<int32_t> tokens(static_cast<size_t>(node.depth));
  for (const Node* n = &node; n->parent != nullptr; n = n->parent) {
    std::copy(n->edge.begin(), n->edge.end(), tokens.begin() + n->parent->depth);
  }
  return tokens;
}

Status contradiction(const Node& node, const std::string& found) {
  return Status(Code::kInternal,
                "prefix cache: node at token " + std::to_string(node.depth) + " " + found);
}

}  // namespace

struct PrefixCache::Impl {
  struct Walk {
    Node* node = nullptr;   // the deepest whose whole path is a prefix of the tokens
    Node* below = nullptr;  // its child that the tokens enter, without reaching it
    int64_t known = 0;      // leading tokens that lie on paths of the tree
    Node* best = nullptr;   // the deepest snapshot on the way
  };

  Walk walk(Tokens tokens);
  Node* place(Tokens tokens);
  void prune(Node* node);
  void touch(Node* node);
  void hold(const Snapshot& snapshot);
  void let_go(const Snapshot& snapshot);
  void release(const Snapshot& snapshot) const;
  Status check_node(const Node& node) const;
  Status check_snapshot(const Node& node) const;
  int64_t blocks_of(int64_t position) const {
    return (position + options.block_tokens - 1) / options.block_tokens;
  }

  Options options;
  StatePool* pool;
  Evicted on_evict;
  Node root;
  std::map<uint64_t, Node*> by_age;  // all snapshots, the longest unused first
  uint64_t next_age = 0;
  int64_t clock = 0;             // value of what was evicted last (GreedyDual)
  std::vector<int32_t> holders;  // snapshots that refer to each block
  int64_t blocks_held = 0;
  EvictedTrace evicted;
};

PrefixCache::Impl::Walk PrefixCache::Impl::walk(Tokens tokens) {
  Walk w{.node = &root};
  while (w.known < size_of(tokens)) {
    const auto child = w.node->children.find(tokens[static_cast<size_t>(w.known)]);
    if (child == w.node->children.end()) break;
    Node* next = child->second.get();
    w.known += common_length(next->edge, tokens.subspan(static_cast<size_t>(w.known)));
    if (w.known < next->depth) {
      w.below = next;
      break;
    }
    w.node = next;
    if (next->snapshot) w.best = next;
  }
  return w;
}

// The node at the end of `tokens`, made where there is none: an edge is split, a leaf added.
Node* PrefixCache::Impl::place(Tokens tokens) {
  const Walk w = walk(tokens);
  Node* node = w.node;
  if (w.below != nullptr) {
    auto middle = std::make_unique<Node>();
    middle->parent = node;
    middle->depth = w.known;
    std::unique_ptr<Node>& place = node->children[w.below->edge.front()];
    const auto cut = w.below->edge.begin() + (w.known - node->depth);
    middle->edge.assign(w.below->edge.begin(), cut);
    w.below->edge.erase(w.below->edge.begin(), cut);
    w.below->parent = middle.get();
    middle->children[w.below->edge.front()] = std::move(place);
    place = std::move(middle);
    node = place.get();
  }
  if (w.known < size_of(tokens)) {
    auto leaf = std::make_unique<Node>();
    leaf->parent = node;
    leaf->depth = size_of(tokens);
    leaf->edge.assign(tokens.begin() + w.known, tokens.end());
    std::unique_ptr<Node>& place = node->children[leaf->edge.front()];
    place = std::move(leaf);
    node = place.get();
  }
  return node;
}

// Removes what neither is a snapshot nor parts paths, from `node` upwards.
void PrefixCache::Impl::prune(Node* node) {
  while (node->parent != nullptr && !node->snapshot && node->children.empty()) {
    Node* parent = node->parent;
    parent->children.erase(node->edge.front());
    node = parent;
  }
  if (node->parent == nullptr || node->snapshot || node->children.size() > 1) return;
  std::unique_ptr<Node> only = std::move(node->children.begin()->second);
  only->edge.insert(only->edge.begin(), node->edge.begin(), node->edge.end());
  only->parent = node->parent;
  node->parent->children[only->edge.front()] = std::move(only);  // ends `node`
}

void PrefixCache::Impl::touch(Node* node) {
  by_age.erase(node->age);
  node->age = ++next_age;
  node->clock = clock;
  by_age.emplace(node->age, node);
}

void PrefixCache::Impl::hold(const Snapshot& snapshot) {
  for (const BlockId block : snapshot.blocks) {
    TRINE_CHECK(pool->references(block) > 0);
    if (++holders[static_cast<size_t>(block)] == 1) ++blocks_held;
  }
}

void PrefixCache::Impl::let_go(const Snapshot& snapshot) {
  for (const BlockId block : snapshot.blocks) {
    if (--holders[static_cast<size_t>(block)] == 0) --blocks_held;
  }
  release(snapshot);
}

void PrefixCache::Impl::release(const Snapshot& snapshot) const {
  if (snapshot.slot != kNone) pool->give_slot(snapshot.slot);
  for (const BlockId block : snapshot.blocks) pool->drop_block(block);
}

PrefixCache::PrefixCache(const Options& options, StatePool* pool, Evicted on_evict)
    : impl_(std::make_unique<Impl>()) {
  TRINE_CHECK(options.block_tokens > 0 && options.snapshots_max >= 0);
  impl_->options = options;
  impl_->pool = pool;
  impl_->on_evict = std::move(on_evict);
  impl_->holders.assign(static_cast<size_t>(pool->options().blocks), 0);
}

PrefixCache::~PrefixCache() { flush(); }

PrefixMatch PrefixCache::find(Tokens tokens, int64_t limit) {
  tokens = tokens.first(static_cast<size_t>(std::clamp<int64_t>(limit, 0, size_of(tokens))));
  const Impl::Walk walk = impl_->walk(tokens);
  PrefixMatch match;
  match.tokens_known = walk.known;
  if (walk.best != nullptr) {
    match.snapshot = &*walk.best->snapshot;
    impl_->touch(walk.best);
  }
  const int64_t found = walk.best == nullptr ? 0 : walk.best->depth;
  match.evicted_longer = impl_->evicted.has_longer(tokens, found);
  return match;
}

bool PrefixCache::contains(Tokens tokens) const {
  const Impl::Walk walk = impl_->walk(tokens);
  return walk.best != nullptr && walk.best->depth == size_of(tokens);
}

void PrefixCache::insert(Tokens tokens, Snapshot snapshot, SnapshotKind kind) {
  Impl& s = *impl_;
  TRINE_CHECK(snapshot.position == size_of(tokens) && snapshot.position > 0);
  TRINE_CHECK(size_of(snapshot.blocks) == s.blocks_of(snapshot.position) ||
              (snapshot.blocks.empty() && s.pool->options().block_bytes == 0));
  if (const Impl::Walk walk = s.walk(tokens);
      walk.best != nullptr && walk.best->depth == size_of(tokens)) {
    walk.best->kind = std::max(walk.best->kind, kind);
    s.touch(walk.best);
    s.release(snapshot);
    return;
  }
  if (!make_room()) {
    s.release(snapshot);
    return;
  }
  Node* node = s.place(tokens);
  s.hold(snapshot);
  node->snapshot = std::move(snapshot);
  node->kind = kind;
  s.touch(node);
}

bool PrefixCache::make_room() {
  while (size() > 0 && size() >= impl_->options.snapshots_max) evict_one();
  return impl_->options.snapshots_max > 0;
}

// Looks at every snapshot: their worth changes with their neighbours, and there are few.
bool PrefixCache::evict_one() {
  Impl& s = *impl_;
  Node* least = nullptr;
  int64_t least_value = 0;
  for (const auto& [age, node] : s.by_age) {
    const int64_t value = node->clock + tokens_saved(*node) * weight(node->kind);
    if (least != nullptr && value >= least_value) continue;  // of equals the longest unused goes
    least = node;
    least_value = value;
  }
  if (least == nullptr) return false;
  s.clock = std::max(s.clock, least_value);
  const std::vector<int32_t> tokens = path_of(*least);
  if (s.on_evict) s.on_evict(tokens, *least->snapshot, least->kind);
  s.evicted.add(tokens);
  s.let_go(*least->snapshot);
  s.by_age.erase(least->age);
  least->snapshot.reset();
  s.prune(least);
  return true;
}

void PrefixCache::flush() {
  Impl& s = *impl_;
  for (const auto& [age, node] : s.by_age) s.let_go(*node->snapshot);
  s.by_age.clear();
  s.evicted.clear();
  // Level by level: a conversation of many turns is a long chain, too long for recursion.
  std::vector<std::map<int32_t, std::unique_ptr<Node>>> pending;
  pending.push_back(std::exchange(s.root.children, {}));
  while (!pending.empty()) {
    const auto siblings = std::move(pending.back());
    pending.pop_back();
    for (const auto& [token, node] : siblings) pending.push_back(std::move(node->children));
  }
}

int64_t PrefixCache::size() const { return size_of(impl_->by_age); }

int64_t PrefixCache::blocks_held() const { return impl_->blocks_held; }

Status PrefixCache::Impl::check_node(const Node& node) const {
  for (const auto& [token, child] : node.children) {
    if (child->parent != &node) return contradiction(*child, "does not know its parent");
    if (child->edge.empty()) return contradiction(*child, "has an empty edge");
    if (child->edge.front() != token) return contradiction(*child, "lies under another token");
    if (child->depth != node.depth + size_of(child->edge)) {
      return contradiction(*child, "has an edge of another length");
    }
  }
  if (node.parent == nullptr) return {};
  if (!node.snapshot && node.children.size() < 2) return contradiction(node, "has no purpose");
  return node.snapshot ? check_snapshot(node) : Status();
}

Status PrefixCache::Impl::check_snapshot(const Node& node) const {
  const Snapshot& snapshot = *node.snapshot;
  const auto entry = by_age.find(node.age);
  if (entry == by_age.end() || entry->second != &node) return contradiction(node, "has no age");
  if (snapshot.position != node.depth) return contradiction(node, "holds another position");
  if (node.clock > clock) return contradiction(node, "was used in the future");
  if (snapshot.slot == kNone ? pool->options().slot_bytes > 0 : !pool->slot_taken(snapshot.slot)) {
    return contradiction(node, "holds slot " + std::to_string(snapshot.slot));
  }
  if (size_of(snapshot.blocks) != blocks_of(snapshot.position) &&
      !(snapshot.blocks.empty() && pool->options().block_bytes == 0)) {
    return contradiction(node, "holds " + std::to_string(snapshot.blocks.size()) + " blocks");
  }
  return {};
}

Status PrefixCache::check() const {
  const Impl& s = *impl_;
  if (s.root.snapshot || s.root.depth != 0) return contradiction(s.root, "is no root");
  int64_t snapshots = 0;
  std::set<SlotId> slots;
  std::vector<int32_t> holders(s.holders.size(), 0);
  std::vector<const Node*> pending = {&s.root};
  while (!pending.empty()) {
    const Node& node = *pending.back();
    pending.pop_back();
    TRINE_RETURN_IF_ERROR(s.check_node(node));
    for (const auto& [token, child] : node.children) pending.push_back(child.get());
    if (!node.snapshot) continue;
    ++snapshots;
    if (node.snapshot->slot != kNone && !slots.insert(node.snapshot->slot).second) {
      return contradiction(node, "shares its slot");
    }
    for (const BlockId block : node.snapshot->blocks) ++holders[static_cast<size_t>(block)];
  }
  if (snapshots != size()) return contradiction(s.root, "leads to another number of snapshots");
  if (snapshots > s.options.snapshots_max) return contradiction(s.root, "has too many snapshots");
  int64_t held = 0;
  for (size_t block = 0; block < holders.size(); ++block) {
    held += holders[block] > 0 ? 1 : 0;
    if (holders[block] != s.holders[block] ||
        holders[block] > s.pool->references(static_cast<BlockId>(block))) {
      return contradiction(s.root, "miscounts block " + std::to_string(block));
    }
  }
  return held == s.blocks_held ? Status() : contradiction(s.root, "miscounts its blocks");
}

}  // namespace trine::serving
