#include "grammar/masks.h"

#include <algorithm>
#include <utility>

#include "base/try.h"

namespace trine::grammar {
namespace {

constexpr int64_t kAutomatonBytesMax = int64_t{128} << 20;  ///< then a new one is begun
constexpr int64_t kWalkBytesMax = int64_t{512} << 20;       ///< within one call; then it fails
constexpr int64_t kLocalsBytesMax = int64_t{64} << 20;
constexpr size_t kChainsMax = 64;
constexpr int kPreparedMax = 32;  ///< walks of prepare()

int32_t state_in(Place place) { return static_cast<int32_t>(place >> 32); }

void set_bit(std::span<uint64_t> bits, int32_t id) {
  bits[static_cast<size_t>(id) / 64] |= uint64_t{1} << (static_cast<size_t>(id) % 64);
}

}  // namespace

int64_t MaskCache::Local::memory_bytes() const {
  return static_cast<int64_t>(sizeof(Local) + 64 + bits.size() * sizeof(uint64_t) +
                              ids.size() * sizeof(int32_t) + exits.size() * sizeof(uint32_t));
}

MaskCache::MaskCache(const Program& program, std::shared_ptr<const TokenTable> table)
    : program_(program),
      table_(std::move(table)),
      automaton_(std::make_shared<Automaton>(program)),
      walk_states_(static_cast<size_t>(table_->longest()) + 2) {}

// Brings a position into the automaton in use; begins a new one when the old has grown too large.
std::shared_ptr<Automaton> MaskCache::current(Position* position) {
  if (automaton_->memory_bytes() > kAutomatonBytesMax || automaton_->overflowed()) {
    automaton_ = std::make_shared<Automaton>(program_);
    locals_.clear();
    locals_bytes_ = 0;
  }
  if (position->epoch != automaton_) {
    if (position->epoch == nullptr) {
      place(position, automaton_, automaton_->start());
    } else {
      const auto old = std::static_pointer_cast<Automaton>(position->epoch);
      place(position, automaton_, automaton_->import_from(*old, position->state));
    }
  }
  return automaton_;
}

void MaskCache::place(Position* position, const std::shared_ptr<Automaton>& automaton,
                      int32_t state) {
  *position = {automaton, state, automaton->can_end(state)};
}

MaskCache::Position MaskCache::start() {
  const std::lock_guard lock(mutex_);
  Position position;
  current(&position);
  return position;
}

Status MaskCache::overflow() const {
  return {Code::kUnsupported,
          "the grammar can be read in too many ways at once here; make its alternatives differ "
          "earlier"};
}

Status MaskCache::advance(Position* position, std::string_view bytes) {
  const std::lock_guard lock(mutex_);
  const std::shared_ptr<Automaton> automaton = current(position);
  int32_t state = position->state;
  for (size_t i = 0; i < bytes.size(); ++i) {
    state = automaton->next_byte(state, static_cast<uint8_t>(bytes[i]));
    if (automaton->overflowed()) return overflow();
    if (state == Automaton::kDead)
      return {Code::kInvalidArgument, "byte " + std::to_string(i) + " of '" + std::string(bytes) +
                                          "' does not fit the grammar here"};
  }
  place(position, automaton, state);
  return {};
}

std::string MaskCache::forced(Position* position, int64_t bytes_max) {
  const std::lock_guard lock(mutex_);
  const std::shared_ptr<Automaton> automaton = current(position);
  std::string text;
  int32_t state = position->state;
  while (static_cast<int64_t>(text.size()) < bytes_max && !automaton->can_end(state)) {
    int only = -1;
    int32_t only_state = Automaton::kDead;
    int found = 0;
    for (int c = 0; c < program_.class_count && found < 2; ++c) {
      const int32_t to = automaton->next(state, c);
      if (to == Automaton::kDead) continue;
      found += program_.class_size[c];
      only = c;
      only_state = to;
    }
    if (found != 1 || automaton->overflowed()) break;
    text.push_back(static_cast<char>(program_.byte_of_class[only]));
    state = only_state;
  }
  return text;
}

// Walks the subtree below a node: sets the bits of the tokens that can follow and, where exits are
// wanted, notes the nodes at which the text could end. Returns the deepest reach that was met.
int MaskCache::walk(Automaton* automaton, int32_t state, uint32_t from, std::span<uint64_t> bits,
                    std::vector<uint32_t>* exits) {
  const TokenTable::Node* nodes = table_->nodes_.data();
  const int32_t* ids = table_->ids_.data();
  const uint32_t end = nodes[from].end;
  const int base = nodes[from].depth;
  int32_t* states = walk_states_.data();
  states[0] = state;
  int reach = automaton->reach(state);
  for (uint32_t i = from + 1; i < end;) {
    const TokenTable::Node& node = nodes[i];
    const int depth = node.depth - base;
    const int32_t before = states[depth - 1];
    const int32_t to = automaton->next_byte(before, node.byte);
    if (to == Automaton::kDead) {
      reach = std::max(reach, automaton->reach(before));
      i = node.end;
      continue;
    }
    states[depth] = to;
    reach = std::max(reach, automaton->reach(before));
    if (node.leads && node.plain && !automaton->can_end(to) && automaton->loops_on_plain(to)) {
      reach = std::max(reach, automaton->reach(to));
      for (uint32_t k = node.first; k < nodes[node.end].first; ++k) set_bit(bits, ids[k]);
      i = node.end;
      continue;
    }
    for (uint32_t k = node.first; k < nodes[i + 1].first; ++k) set_bit(bits, ids[k]);
    if (node.leads) {
      reach = std::max(reach, automaton->reach(to));
      if (exits != nullptr && automaton->can_end(to)) exits->push_back(i);
    }
    if ((i & 1023) == 0 && automaton->memory_bytes() > kWalkBytesMax) break;  // fill() refuses
    ++i;
  }
  return reach;
}

// A count in which no token can tell the difference: far from both bounds they all look alike.
Place MaskCache::clamped(Place place) const {
  const int32_t r = program_.states[static_cast<size_t>(state_in(place))].repeat;
  if (r < 0) return place;
  const Repeat& repeat = program_.repeats[static_cast<size_t>(r)];
  const auto count = static_cast<int64_t>(place & UINT32_MAX);
  const int64_t far = table_->longest() + 2;
  int64_t same = count;
  if (count < repeat.min)
    same = std::max(count, repeat.min - far);
  else if (repeat.max != kUnbounded)
    same = std::max(count, repeat.max - far);
  return (place & ~uint64_t{UINT32_MAX}) | static_cast<uint64_t>(same);
}

// The stacks of `node`, cut below the first frame whose rule is not a short one.
bool MaskCache::add_chains(Automaton* automaton, int32_t node, const Chain& chain,
                           std::vector<Chain>* chains) const {
  const StackSets::Frames frames = automaton->sets().frames(node);
  for (const Frame& f : frames) {
    if (f.place == kEndPlace) {
      if (chain.places.empty()) continue;
      Chain whole = chain;
      whole.rest = StackSets::kEnd;
      chains->push_back(std::move(whole));
    } else {
      Chain longer = chain;
      longer.places.push_back(longer.places.empty() ? f.place : clamped(f.place));
      longer.rest = f.rest;
      const int32_t rule = program_.states[static_cast<size_t>(state_in(f.place))].rule;
      if (program_.rules[static_cast<size_t>(rule)].is_short) {
        if (!add_chains(automaton, f.rest, longer, chains)) return false;
      } else {
        chains->push_back(std::move(longer));
      }
    }
    if (chains->size() > kChainsMax) return false;
  }
  return true;
}

// Places that lead back to themselves, and bodies that are counted, far from both bounds.
void MaskCache::prepare() {
  const std::lock_guard lock(mutex_);
  int walks = 0;
  for (size_t s = 0; s + 1 < program_.states.size() && walks < kPreparedMax; ++s) {
    const Program::State* state = &program_.states[s];
    bool loops = false;
    for (int32_t e = state->bytes; e < state[1].bytes; ++e) {
      const ByteEdge& edge = program_.bytes[static_cast<size_t>(e)];
      loops = loops || edge.to == static_cast<int32_t>(s);
    }
    const bool is_short = program_.rules[static_cast<size_t>(state->rule)].is_short;
    if (loops && !is_short && ++walks > 0)
      local(automaton_.get(), {{static_cast<Place>(s) << 32}, StackSets::kNone});
    if (state->repeat < 0) continue;
    const Repeat& repeat = program_.repeats[static_cast<size_t>(state->repeat)];
    if (repeat.max <= 1) continue;
    const Program::Rule& body = program_.rules[static_cast<size_t>(repeat.body)];
    const auto begin = static_cast<size_t>(body.start);
    if (!body.is_short || program_.states[begin].bytes == program_.states[begin + 1].bytes)
      continue;
    const Place counted = static_cast<Place>(s) << 32 | static_cast<Place>(repeat.min);
    ++walks;
    local(automaton_.get(),
          {{static_cast<Place>(begin) << 32, clamped(counted)}, StackSets::kNone});
  }
}

const MaskCache::Local& MaskCache::local(Automaton* automaton, const Chain& chain) {
  int32_t node = StackSets::kEnd;
  for (size_t i = chain.places.size(); i-- > 0;)
    node = automaton->sets().single(chain.places[i], node);
  const int32_t state = automaton->state_of(node);
  if (const auto found = locals_.find(state); found != locals_.end()) return found->second;
  if (locals_bytes_ > kLocalsBytesMax) {
    locals_.clear();
    locals_bytes_ = 0;
  }
  Local made;
  made.bits.assign(static_cast<size_t>(table_->mask_words()), 0);
  made.reach = walk(automaton, state, 0, made.bits, &made.exits);
  int64_t count = 0;
  for (const uint64_t word : made.bits) count += __builtin_popcountll(word);
  if (count < table_->mask_words() / 2) {
    for (int32_t id = 0; id < table_->size(); ++id)
      if ((made.bits[static_cast<size_t>(id) / 64] >> (static_cast<size_t>(id) % 64) & 1) != 0)
        made.ids.push_back(id);
    made.bits = {};
  }
  made.ids.shrink_to_fit();
  made.exits.shrink_to_fit();
  locals_bytes_ += made.memory_bytes();
  return locals_.emplace(state, std::move(made)).first->second;
}

// False when the cached walk does not hold over so deep a stack.
bool MaskCache::add_chain(Automaton* automaton, const Chain& chain, std::span<uint64_t> bits) {
  const Local& cached = local(automaton, chain);
  if (cached.reach + automaton->sets().depth_max(chain.rest) > program_.depth_max) return false;
  for (size_t w = 0; w < cached.bits.size(); ++w) bits[w] |= cached.bits[w];
  for (const int32_t id : cached.ids) set_bit(bits, id);
  if (chain.rest == StackSets::kEnd || cached.exits.empty()) return true;
  const int32_t after = automaton->after_return(chain.rest);
  for (const uint32_t exit : cached.exits) walk(automaton, after, exit, bits, nullptr);
  return true;
}

Status MaskCache::fill(Position* position, std::span<uint64_t> bits) {
  if (static_cast<int64_t>(bits.size()) < table_->mask_words())
    return {Code::kInvalidArgument, "the mask has " + std::to_string(bits.size()) +
                                        " words, the vocabulary needs " +
                                        std::to_string(table_->mask_words())};
  const std::lock_guard lock(mutex_);
  const std::shared_ptr<Automaton> automaton = current(position);
  std::fill(bits.begin(), bits.end(), 0);
  std::vector<Chain> chains;
  bool cached = add_chains(automaton.get(), automaton->node(position->state), {}, &chains);
  for (size_t i = 0; cached && i < chains.size(); ++i)
    cached = add_chain(automaton.get(), chains[i], bits);
  if (!cached) {
    std::fill(bits.begin(), bits.end(), 0);
    walk(automaton.get(), position->state, 0, bits, nullptr);
  }
  if (automaton->overflowed() || automaton->memory_bytes() > kWalkBytesMax) {
    std::fill(bits.begin(), bits.end(), 0);
    automaton_ = std::make_shared<Automaton>(program_);
    locals_.clear();
    locals_bytes_ = 0;
    return overflow();
  }
  return {};
}

}  // namespace trine::grammar
