// Scenarios on a scheduler of its own for each, in memory of exactly the size that the scenario
// wants.
#include "serving/selfcheck.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <memory>
#include <random>

#include "serving/scheduler.h"

namespace trine::serving {
namespace {

uint64_t hash_bits(std::span<const float> values) {
  uint64_t hash = 0xCBF29CE484222325u;
  for (const float value : values) {
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    hash = (hash ^ bits) * 0x100000001B3u;
  }
  return hash;
}

/// Tokens with the hash of the logits that each was chosen from.
struct Answer : Sink {
  std::vector<int32_t> tokens;
  std::vector<uint64_t> rows;
  Outcome outcome;
  bool done = false;

  void logits(std::span<const float> row) override { rows.push_back(hash_bits(row)); }
  Verdict token(const Token& token) override {
    tokens.push_back(token.id);
    return Verdict::kGoOn;
  }
  void finished(const Outcome& result) override {
    outcome = result;
    done = true;
  }
};

/// The executor with what scenarios change about it.
class Bent : public Executor {
 public:
  explicit Bent(Executor& inner) : rows_max(inner.pass_rows()), inner_(inner) {}

  int64_t vocab_size() const override { return inner_.vocab_size(); }
  int64_t block_tokens() const override { return inner_.block_tokens(); }
  int64_t block_bytes() const override { return inner_.block_bytes(); }
  int64_t state_bytes() const override { return inner_.state_bytes(); }
  int64_t pass_rows() const override { return std::min(rows_max, inner_.pass_rows()); }
  std::unique_ptr<ExecutorSequence> open(std::byte* slot, bool fresh) override {
    return inner_.open(slot, fresh);
  }
  void copy(std::byte* to, const std::byte* from, int64_t bytes) override {
    inner_.copy(to, from, bytes);
  }
  /// A work that meets `bad_token` comes back as if it had turned NaN.
  void run(std::span<Work> works) override {
    inner_.run(works);
    for (Work& work : works) {
      if (std::find(work.ids.begin(), work.ids.end(), bad_token) != work.ids.end())
        work.status = Status(Code::kNotFinite, "selfcheck");
    }
  }

  int64_t rows_max;
  int32_t bad_token = -1;

 private:
  Executor& inner_;
};

struct Sizes {
  int64_t concurrency = 1, snapshots = 0, spacing = 64;
  int64_t blocks = 0;  ///< 0: enough for all
  bool poison = true;
};

class Battery {
 public:
  Battery(Executor& executor, const SelfcheckOptions& options)
      : options_(options), executor_(executor), random_(options.seed) {
    context_ = 2 * options.prompt_tokens + 4 * options.answer_tokens + 64;
  }

  std::vector<SelfcheckRow> run() {
    row("among others", [&] { return among_others(); });
    row("prefix hit", [&] { return prefix_hit(); });
    row("history", [&] { return history(); });
    row("A, B, A", [&] { return a_b_a(); });
    row("fork at once", [&] { return fork(); });
    row("block edges", [&] { return block_edges(); });
    row("prefill chunks", [&] { return chunks(); });
    if (options_.use_threads && options_.threads > 1) row("threads", [&] { return threads(); });
    row("preemption", [&] { return preemption(); });
    row("cancel", [&] { return cancel(); });
    row("NaN", [&] { return not_finite(); });
    row("random life", [&] { return random_life(); });
    return std::move(rows_);
  }

 private:
  using AnswerPtr = std::shared_ptr<Answer>;

  /// One scheduler with its memory.
  struct Rig {
    Rig(Battery& battery, Executor& executor, const Sizes& sizes) {
      const SlotLayout layout(executor.state_bytes(), executor.vocab_size());
      const int64_t tokens = executor.block_tokens();
      const int64_t all = sizes.concurrency * ((battery.context_ + tokens - 1) / tokens);
      Result<StatePool> memory = StatePool::create({.slots = sizes.concurrency + sizes.snapshots,
                                                    .slot_bytes = layout.bytes(),
                                                    .blocks = sizes.blocks > 0 ? sizes.blocks : all,
                                                    .block_bytes = executor.block_bytes(),
                                                    .poison = sizes.poison,
                                                    .fill = {}});
      if (!memory.ok()) {
        battery.fail(memory.status().message());
        return;
      }
      pool = std::make_unique<StatePool>(std::move(*memory));
      cache = std::make_unique<PrefixCache>(
          PrefixCache::Options{.block_tokens = tokens, .snapshots_max = sizes.snapshots},
          pool.get(), PrefixCache::Evicted());
      scheduler =
          std::make_unique<Scheduler>(SchedulerOptions{.context = battery.context_,
                                                       .concurrency = sizes.concurrency,
                                                       .queue_max = 1000,
                                                       .snapshot_spacing = sizes.spacing,
                                                       .step_ms = 1e9,
                                                       .end_tokens = {}},
                                      &executor, pool.get(), cache.get(), Scheduler::Hooks());
    }
    std::unique_ptr<StatePool> pool;
    std::unique_ptr<PrefixCache> cache;
    std::unique_ptr<Scheduler> scheduler;
  };

  template <typename Check>
  void row(const std::string& name, const Check& check) {
    if (options_.progress) options_.progress(name);
    failure_.clear();
    const auto begin = std::chrono::steady_clock::now();
    std::string detail = check();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    const bool passed = failure_.empty();
    rows_.push_back({name, passed, passed ? std::move(detail) : failure_, took.count()});
  }

  void fail(const std::string& what) {
    if (failure_.empty()) failure_ = what;
  }

  std::vector<int32_t> ids(int64_t count) {
    std::vector<int32_t> out(static_cast<size_t>(count));
    for (int32_t& id : out)
      id = static_cast<int32_t>(random_() % static_cast<uint64_t>(executor_.vocab_size() - 1));
    return out;
  }
  int64_t below(int64_t n) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(n)); }

  Request request(std::vector<int32_t> prompt) {
    Request r;
    r.prompt = std::move(prompt);
    r.max_tokens = options_.answer_tokens;
    r.ignore_eos = true;
    r.sampling.temperature = 0.8f;
    r.sampling.seed = random_();
    return r;
  }

  AnswerPtr submit(Rig& rig, const Request& r, RequestId* id = nullptr) {
    auto answer = std::make_shared<Answer>();
    const Result<RequestId> submitted = rig.scheduler->submit(r, answer);
    if (!submitted.ok()) fail(submitted.status().message());
    if (submitted.ok() && id != nullptr) *id = *submitted;
    return answer;
  }

  void step(Rig& rig) {
    rig.scheduler->step();
    const Status status = rig.scheduler->check();
    if (!status.ok()) fail(status.message());
  }
  void drain(Rig& rig) {
    while (!rig.scheduler->idle() && failure_.empty()) step(rig);
  }

  /// The request with nothing beside it, nothing cached, its prompt in passes as large as they can
  /// be.
  const Answer& alone(const Request& r) {
    std::vector<int32_t> key = r.prompt;
    key.push_back(static_cast<int32_t>(r.sampling.seed));
    AnswerPtr& known = alone_[key];
    if (known == nullptr) {
      // Zeros, not NaN: whoever reads what it never wrote then differs from this.
      Rig rig(*this, executor_, {.poison = false});
      known = submit(rig, r);
      drain(rig);
    }
    return *known;
  }

  void expect_same(const Answer& got, const Request& r, const std::string& what) {
    const Answer& want = alone(r);
    for (size_t i = 0; i < got.rows.size() && i < want.rows.size(); ++i) {
      if (got.rows[i] == want.rows[i]) continue;
      fail(what + ": the logits of token " + std::to_string(i) + " differ from the single run's");
      return;
    }
    if (got.tokens != want.tokens) fail(what + ": other tokens than the single run's");
    if (!got.done) fail(what + ": the request did not end");
  }

  /// All at once on one rig.
  void expect_all(Rig& rig, const std::vector<Request>& requests, const std::string& what) {
    std::vector<AnswerPtr> answers;
    answers.reserve(requests.size());
    for (const Request& r : requests) answers.push_back(submit(rig, r));
    drain(rig);
    for (size_t i = 0; i < requests.size(); ++i)
      expect_same(*answers[i], requests[i], what + ", request " + std::to_string(i));
  }

  std::vector<Request> mixed(int64_t count) {
    std::vector<Request> requests;
    const std::vector<int32_t> shared = ids(options_.prompt_tokens / 2);
    for (int64_t i = 0; i < count; ++i) {
      std::vector<int32_t> prompt = ids(1 + below(options_.prompt_tokens / 2));
      if (i % 2 == 0) prompt.insert(prompt.begin(), shared.begin(), shared.end());
      requests.push_back(request(std::move(prompt)));
    }
    return requests;
  }

  std::string among_others() {
    Rig rig(*this, executor_, {.concurrency = 4});
    expect_all(rig, mixed(6), "six at once");
    return "6 requests at once, 4 running";
  }

  std::string prefix_hit() {
    Rig rig(*this, executor_, {.concurrency = 4, .snapshots = 16});
    const std::vector<Request> requests = mixed(4);
    expect_all(rig, requests, "cold");
    expect_all(rig, requests, "cached");
    const int64_t cached = rig.scheduler->counters().cached_tokens;
    if (cached == 0) fail("no token came from a snapshot");
    return "4 requests cold, then cached; " + std::to_string(cached) + " tokens reused";
  }

  std::string history() {
    Rig rig(*this, executor_, {.concurrency = 1, .snapshots = 8});
    const Request first = request(ids(options_.prompt_tokens / 2));
    expect_all(rig, {first}, "first turn");
    std::vector<int32_t> prompt = first.prompt;
    const Answer& answer = alone(first);
    prompt.insert(prompt.end(), answer.tokens.begin(), answer.tokens.end());
    const auto known = static_cast<int64_t>(prompt.size());
    const std::vector<int32_t> more = ids(9);
    prompt.insert(prompt.end(), more.begin(), more.end());
    const Request second = request(prompt);
    const AnswerPtr got = submit(rig, second);
    drain(rig);
    expect_same(*got, second, "second turn");
    if (got->outcome.cached_tokens != known)
      fail("the second turn reused " + std::to_string(got->outcome.cached_tokens) + " of " +
           std::to_string(known) + " tokens");
    return "a generated history, cached whole: " + std::to_string(known) + " tokens";
  }

  std::string a_b_a() {
    Rig rig(*this, executor_, {.concurrency = 1, .snapshots = 12});
    const Request a = request(ids(options_.prompt_tokens)),
                  b = request(ids(options_.prompt_tokens));
    for (const Request& r : {a, b, a}) expect_all(rig, {r}, "A, B, A");
    return "the third equals the first";
  }

  std::string fork() {
    Rig rig(*this, executor_, {.concurrency = 3, .snapshots = 12});
    Request root = request(ids(options_.prompt_tokens / 2 + 3));
    root.max_tokens = 0;
    submit(rig, root);
    drain(rig);
    std::vector<Request> branches;
    for (int i = 0; i < 3; ++i) {
      std::vector<int32_t> prompt = root.prompt;
      const std::vector<int32_t> own = ids(5 + i);
      prompt.insert(prompt.end(), own.begin(), own.end());
      branches.push_back(request(std::move(prompt)));
    }
    expect_all(rig, branches, "fork");
    return "3 requests off one snapshot in one step";
  }

  std::string block_edges() {
    const int64_t block = executor_.block_tokens();
    for (const int64_t length : {block - 1, block, block + 1, block + 2}) {
      Rig rig(*this, executor_, {.concurrency = 2, .snapshots = 12, .spacing = block});
      const Request whole = request(ids(length));
      expect_all(rig, {whole}, "length " + std::to_string(length));
      std::vector<int32_t> longer = whole.prompt;
      longer.push_back(1);
      expect_all(rig, {whole, request(longer)}, "length " + std::to_string(length) + " again");
    }
    return "prompts of " + std::to_string(block - 1) + " to " + std::to_string(block + 2) +
           " tokens";
  }

  std::string chunks() {
    const std::vector<Request> requests = mixed(3);
    for (const int64_t rows : {int64_t{5}, int64_t{17}, int64_t{64}}) {
      Bent bent(executor_);
      bent.rows_max = rows;
      Rig rig(*this, bent, {.concurrency = 3});
      expect_all(rig, requests, "passes of " + std::to_string(rows) + " rows");
    }
    return "passes of 5, 17 and 64 rows";
  }

  std::string threads() {
    const std::vector<Request> requests = mixed(2);
    for (const Request& r : requests) alone(r);
    options_.use_threads(1);
    {
      Rig rig(*this, executor_, {.concurrency = 2});
      expect_all(rig, requests, "one thread");
    }
    options_.use_threads(options_.threads);
    return "1 thread against " + std::to_string(options_.threads);
  }

  std::string preemption() {
    const int64_t block = executor_.block_tokens();
    const std::vector<Request> requests = [&] {
      std::vector<Request> out;
      for (int i = 0; i < 3; ++i) {
        out.push_back(request(ids(std::max<int64_t>(2, block - 5 + i))));
        out.back().max_tokens = std::min<int64_t>(12, block + 1);
      }
      return out;
    }();
    for (const int64_t snapshots : {0, 3}) {
      Rig rig(*this, executor_, {.concurrency = 3, .snapshots = snapshots, .blocks = 4});
      expect_all(rig, requests, "too few pages");
      if (executor_.block_bytes() > 0 && rig.scheduler->counters().preempted == 0)
        fail("nobody was preempted");
    }
    return "3 requests in the pages of 2, resumed by prefill and from snapshots";
  }

  std::string cancel() {
    const std::vector<Request> requests = mixed(3);
    for (int64_t steps = 0; steps < 6; ++steps) {
      Rig rig(*this, executor_, {.concurrency = 2, .snapshots = 6});
      RequestId doomed = 0;
      submit(rig, requests[0], &doomed);
      const AnswerPtr other = submit(rig, requests[1]), waiting = submit(rig, requests[2]);
      for (int64_t i = 0; i < steps; ++i) step(rig);
      rig.scheduler->cancel(doomed);
      drain(rig);
      expect_same(*other, requests[1], "beside a cancelled one");
      expect_same(*waiting, requests[2], "after a cancelled one");
    }
    return "a request cancelled after 0 to 5 steps";
  }

  std::string not_finite() {
    Bent bent(executor_);
    bent.bad_token = static_cast<int32_t>(executor_.vocab_size() - 1);
    Rig rig(*this, bent, {.concurrency = 3, .snapshots = 6});
    const std::vector<Request> requests = mixed(2);
    Request bad = request(ids(40));
    bad.prompt[30] = bent.bad_token;
    const AnswerPtr broken = submit(rig, bad);
    expect_all(rig, requests, "beside a broken one");
    if (broken->outcome.finish != Finish::kError || !broken->tokens.empty())
      fail("a sequence that is not finite did not end with an error");
    if (rig.cache->contains(bad.prompt)) fail("a sequence that is not finite was kept");
    bad.prompt[30] = 1;
    expect_all(rig, {bad}, "the same without the fault");
    return "ends with an error, is not kept, harms nobody";
  }

  std::string random_life() {
    const int64_t block = executor_.block_tokens();
    const int64_t blocks = (context_ + block - 1) / block + 2;
    Rig rig(*this, executor_,
            {.concurrency = 3, .snapshots = 4, .spacing = block / 2 + 1, .blocks = blocks});
    std::vector<Request> requests = mixed(5);
    std::vector<std::pair<Request, AnswerPtr>> live;
    constexpr int64_t kRequests = 24;
    for (int64_t submitted = 0; submitted < kRequests && failure_.empty();) {
      if (below(3) == 0) {
        const Request& r = requests[static_cast<size_t>(below(5))];
        RequestId id = 0;
        const AnswerPtr answer = submit(rig, r, &id);
        ++submitted;
        if (below(5) == 0) {
          rig.scheduler->cancel(id);
        } else {
          live.emplace_back(r, answer);
        }
      }
      if (below(12) == 0) rig.cache->flush();
      step(rig);
    }
    drain(rig);
    for (const auto& [r, answer] : live) expect_same(*answer, r, "random life");
    rig.cache->flush();
    if (rig.pool->slots_free() != rig.pool->options().slots ||
        rig.pool->blocks_free() != rig.pool->options().blocks)
      fail("slots or pages were not given back");
    return std::to_string(kRequests) + " requests, cancels, flushes, evictions";
  }

  SelfcheckOptions options_;
  Executor& executor_;
  std::mt19937_64 random_;
  int64_t context_ = 0;
  std::map<std::vector<int32_t>, AnswerPtr> alone_;
  std::string failure_;
  std::vector<SelfcheckRow> rows_;
};

}  // namespace

std::vector<SelfcheckRow> selfcheck(Executor& executor, const SelfcheckOptions& options) {
  return Battery(executor, options).run();
}

}  // namespace trine::serving
