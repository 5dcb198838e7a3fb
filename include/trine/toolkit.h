// What the verbs of the command line do, as library functions. Every report is JSON text.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "trine/model.h"
#include "trine/status.h"

namespace trine {

struct InspectOptions {
  bool scan = true;          ///< read all scales
  bool checksums = false;    ///< sha256 of every file; compared with hub cache names that carry one
  bool int8_inputs = false;  ///< memory and support of a load with LoadOptions::int8_inputs
  std::string isa;
};
struct InspectReport {
  std::string json;  ///< one object, see docs/guide/inspect.md
  std::string text;  ///< the same for people
  bool has_errors = false;
  bool only_environment = false;  ///< the errors are files that the system would not let us read
};
Result<InspectReport> inspect(const std::string& folder, const InspectOptions& options);

enum class SynthContent {
  kWeights,  ///< everything
  kHeaders,  ///< shards with true headers and a hole (zeros) for the data: any shape, no disk space
  kIndex,    ///< config, index and tokenizer only, as before the weights are downloaded
};
struct SynthOptions {
  std::string like;        ///< take the shape of this checkpoint's config (weights not needed), or
  std::string shape_json;  ///< a shape file's text: {"preset": "tiny"|"mini"|"k3", overrides}
  std::string out;         ///< folder to create
  uint64_t seed = 1;
  int64_t shard_bytes = int64_t{4} << 30;
  SynthContent content = SynthContent::kWeights;
  std::function<void(int64_t done, int64_t total)> progress;
};
/// Writes a random checkpoint, streamed; the bytes are a function of (shape, seed) alone.
Status synth(const SynthOptions& options);

struct LogitsOptions {
  LoadOptions load;
  bool layers = false;
  std::string out;                                            ///< safetensors file to write
  std::function<bool(int64_t done, int64_t total)> progress;  ///< tokens; false cancels
};
/// F32 tensors logits [T,V] and, with `layers`, layers [L,T,d], router_ids [n_moe,T,k],
/// kda_state [n_kda,H,K,V], mla_rows [n_mla,T,r+dr]; the ids and the settings are in the metadata.
Status write_logits(const std::string& folder, std::span<const int32_t> ids,
                    const LogitsOptions& options);

struct VerifyReport {
  std::string json;
  std::string text;
  bool equal = false;  ///< within tolerance
};
struct VerifyOptions {
  LoadOptions load;
  double tolerance = 2e-3;   ///< largest difference, relative to max(1, largest reference value)
  std::vector<int32_t> ids;  ///< the prompt; empty = taken from the file's metadata ("ids")
  std::string prefix;        ///< of the tensor names in the file, e.g. "short."
  std::function<bool(int64_t done, int64_t total)> progress;  ///< tokens; false cancels
};
/// Compares a model with a file written by write_logits or in its form by another engine; names the
/// first layer that differs. Router choices are compared as sets.
Result<VerifyReport> verify(const std::string& folder, const std::string& against,
                            const VerifyOptions& options);
/// The same with the ids of the file.
Result<VerifyReport> verify(const std::string& folder, const std::string& against,
                            const LoadOptions& load, double tolerance);

struct BenchOptions {
  LoadOptions load;
  std::vector<int64_t> prefill_tokens{128, 512, 2048};
  std::vector<int64_t> decode_depths{0, 4096, 16384};
  std::vector<int64_t> batches{1, 4, 16};
  int64_t decode_tokens = 32;
  int repeats = 3;
  bool busy = true;                       ///< also measure beside a busy process on every core
  int64_t read_bytes = int64_t{1} << 30;  ///< read to measure the bandwidth; far above the caches
  std::function<void(const std::string& line)> progress;
};
struct BenchReport {
  std::string json;
  std::string text;
};
Result<BenchReport> bench(const std::string& folder, const BenchOptions& options);

/// Whether this CPU can execute the ISA level ("" = the best): kUnsupported when it lacks it,
/// kInvalidArgument when there is no such name. With `int8_inputs` also whether the level has an
/// integer dot product.
Status check_isa(const std::string& isa, bool int8_inputs = false);
/// kInvalidArgument when the config of the model names a maximum below `context` (0 = none asked
/// for). A config that cannot be read is no error here: loading explains it.
Status check_context(const std::string& folder, int64_t context);

}  // namespace trine
