// A model loaded into its kernel layout, and sequences that run through it.
//
//   auto model = trine::Model::load("models/k3-nano", {});
//   auto sequence = model->new_sequence();
//   auto logits = sequence->prefill(ids);      // logits after the last id
//   logits = sequence->decode(next_id);
//
// A Model is immutable and may be shared; its compute threads serve one forward pass at a time
// (calls from several threads wait for each other). Each Sequence belongs to one thread at a time.
//
// Promise (docs/design/numerics.md): for one build, ISA level and precision the logits of a token
// are the same bits for every thread count, prefill chunk (multiple of 64), batch, and whether the
// token came by prefill or by decode.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "trine/status.h"

namespace trine {

enum class Precision {
  kFast,   ///< 16-bit inputs where the CPU has 16-bit matrix units, fp32 elsewhere; bf16 latent
           ///< cache
  kExact,  ///< fp32 activations, accumulation and caches; weights de-quantised exactly
};

struct LoadOptions {
  Precision precision = Precision::kFast;
  bool round_inputs_to_bf16 = false;  ///< fast: round matmul inputs to bf16 even where the CPU has
                                      ///< no 16-bit matrix unit (to measure what that costs)
  /// Opt-in, fast precision on levels with an integer dot product: the trunk's weights are rounded
  /// to int8 at load and inputs of matmuls to int8 per row, one scale per group of inputs; MXFP4
  /// experts take such inputs too. Faster prefill and a smaller trunk; docs/numerics.md states the
  /// error. Router, decays, small gates, attention and states stay as they are. kInvalidArgument
  /// with kExact, kUnsupported at other levels.
  bool int8_inputs = false;
  int threads = 0;  ///< 0 = physical cores available to the process
  int64_t context =
      0;  ///< tokens per sequence; 0 = min(config, 1/8 of the memory left, at least 4096)
  int64_t sequences = 1;        ///< sequences that may be alive at once
  int64_t prefill_chunk = 512;  ///< tokens per forward pass, a multiple of 64
  bool allow_paging = false;    ///< load even when the plan exceeds the memory available
  bool scan_scales = true;
  std::string isa = {};  ///< "" = best; else "scalar", "avx2", "avx512", "avx512_bf16", "amx"
  /// Called from the loading thread: bytes done, bytes in all.
  std::function<void(int64_t done, int64_t total)> progress = {};
};

/// Memory of a loaded model, from closed forms (toolkit/inspect prints the same numbers).
struct MemoryPlan {
  int64_t weight_bytes = 0;      ///< packed weights
  int64_t state_bytes = 0;       ///< KDA states and windows of all sequences
  int64_t latent_bytes = 0;      ///< latent cache of all sequences at `context`
  int64_t activation_bytes = 0;  ///< scratch of one forward pass
  int64_t total_bytes = 0;
  int64_t available_bytes = 0;
};

/// What a forward pass can show besides logits (trine logits --layers). All optional.
struct Trace {
  std::vector<float> layers;        ///< [L][T][hidden_size]: residual after each layer
  std::vector<int32_t> router_ids;  ///< [moe layers][T][num_experts_per_token]
  int64_t tokens = 0;
};

class Sequence;
struct BenchAccess;  // inside trine only
struct PagedModel;   // inside trine only

class Model {
 public:
  /// Audits, checks the memory (kOutOfMemory with the numbers), packs. Errors: kNotFound, kCorrupt,
  /// kUnsupported, kOutOfMemory, kIo, kInvalidArgument.
  static Result<Model> load(const std::string& folder, const LoadOptions& options);
  ~Model();
  Model(Model&&) noexcept;
  Model& operator=(Model&&) noexcept;

  int64_t vocab_size() const;
  int64_t context() const;  ///< tokens one sequence can hold
  int64_t prefill_chunk() const;
  int threads() const;
  std::vector<int64_t> eos_token_ids() const;
  const MemoryPlan& memory_plan() const;
  std::string isa() const;
  std::string kernels() const;  ///< names of the matmul kernels in use

  /// kBusy when `sequences` are alive already.
  Result<Sequence> new_sequence() const;

  /// One decode step for several sequences at once: ids[i] is appended to *sequences[i]; logits
  /// [sequences][vocab_size]. Same bits as each sequence alone.
  Status decode_batch(std::span<Sequence* const> sequences, std::span<const int32_t> ids,
                      std::vector<float>* logits) const;

  struct Impl;

 private:
  friend class Sequence;
  friend struct PagedModel;
  std::shared_ptr<Impl> impl_;
  explicit Model(std::shared_ptr<Impl> impl);
};

class Sequence {
 public:
  ~Sequence();
  Sequence(Sequence&&) noexcept;
  Sequence& operator=(Sequence&&) noexcept;

  int64_t position() const;  ///< tokens seen
  void reset();

  struct PrefillOptions {
    bool all_logits = false;  ///< logits of every id, else of the last one
    Trace* trace = nullptr;
    std::function<bool(int64_t done)> progress =
        {};  ///< after each chunk; false cancels (kCancelled)
  };
  /// Appends ids. Logits [ids or 1][vocab_size]. Errors: kInvalidArgument (id out of range, empty),
  /// kOutOfMemory (context full), kNotFinite (names the first layer where it appears; the sequence
  /// must then be reset), kCancelled.
  Result<std::vector<float>> prefill(std::span<const int32_t> ids, const PrefillOptions& options);
  Result<std::vector<float>> prefill(std::span<const int32_t> ids);
  /// Appends one id and returns its logits [vocab_size].
  Result<std::vector<float>> decode(int32_t id);
  /// The same into a vector of the caller: nothing is allocated once it has the size.
  Status decode(int32_t id, std::vector<float>* logits);

  /// States for comparison with other engines: [n_kda][H][D][D] and [n_mla][position][r + dr].
  std::vector<float> kda_state() const;
  std::vector<float> mla_rows() const;

  struct Impl;

 private:
  friend class Model;
  friend struct BenchAccess;
  std::unique_ptr<Impl> impl_;
  explicit Sequence(std::unique_ptr<Impl> impl);
};

}  // namespace trine
