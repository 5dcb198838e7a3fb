// One answer's way through a grammar.
#include <utility>

#include "base/try.h"
#include "grammar/masks.h"
#include "grammar/program.h"

namespace trine::grammar {
namespace {

constexpr size_t kTablesMax = 4;  ///< vocabularies that a grammar remembers masks for

}  // namespace

struct Grammar::Impl {
  explicit Impl(Program p) : program(std::move(p)) {}

  const Program program;
  std::mutex mutex;  // of caches
  std::vector<std::shared_ptr<MaskCache>> caches;
};

Grammar::Grammar(Program program) : impl_(std::make_unique<Impl>(std::move(program))) {}
Grammar::~Grammar() = default;

int64_t Grammar::state_count() const {
  return static_cast<int64_t>(impl_->program.states.size()) - 1;
}

std::shared_ptr<MaskCache> Grammar::cache_for(
    const std::shared_ptr<const TokenTable>& table) const {
  const std::lock_guard lock(impl_->mutex);
  for (const std::shared_ptr<MaskCache>& cache : impl_->caches)
    if (cache->shared_table() == table) return cache;
  if (impl_->caches.size() == kTablesMax) impl_->caches.erase(impl_->caches.begin());
  impl_->caches.push_back(std::make_shared<MaskCache>(impl_->program, table));
  return impl_->caches.back();
}

void Grammar::prepare(const std::shared_ptr<const TokenTable>& table) const {
  cache_for(table)->prepare();
}

Matcher::Matcher(std::shared_ptr<const Grammar> grammar,
                 const std::shared_ptr<const TokenTable>& table)
    : grammar_(std::move(grammar)), cache_(grammar_->cache_for(table)) {
  MaskCache::Position at = cache_->start();
  epoch_ = std::move(at.epoch);
  state_ = at.state;
  can_end_ = at.can_end;
}

Status Matcher::fill_mask(std::span<uint64_t> bits) {
  MaskCache::Position at{epoch_, state_, can_end_};
  Status status = cache_->fill(&at, bits);
  epoch_ = std::move(at.epoch);
  state_ = at.state;
  return status;
}

Status Matcher::accept(int32_t token) {
  const std::string_view bytes = cache_->table().bytes(token);
  if (bytes.empty())
    return {Code::kInvalidArgument,
            "token " + std::to_string(token) + " is a control token or none at all"};
  return accept_bytes(bytes).with_context("token " + std::to_string(token));
}

Status Matcher::accept_bytes(std::string_view bytes) {
  MaskCache::Position at{epoch_, state_, can_end_};
  Status status = cache_->advance(&at, bytes);
  epoch_ = std::move(at.epoch);
  state_ = at.state;
  can_end_ = at.can_end;
  return status;
}

bool Matcher::can_end() const { return can_end_; }

std::string Matcher::forced_bytes(int64_t bytes_max) {
  MaskCache::Position at{epoch_, state_, can_end_};
  std::string text = cache_->forced(&at, bytes_max);
  epoch_ = std::move(at.epoch);
  state_ = at.state;
  return text;
}

}  // namespace trine::grammar
