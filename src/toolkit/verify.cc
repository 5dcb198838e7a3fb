// trine verify: a model against what another run or engine computed for the same prompt.
#include <algorithm>
#include <cmath>
#include <utility>

#include "base/try.h"
#include "toolkit/forward_run.h"
#include "toolkit/reference_file.h"
#include "toolkit/verify_report.h"
#include "trine/toolkit.h"

namespace trine {
namespace {

using checkpoint::TensorInfo;
using toolkit::Comparison;
using toolkit::ForwardRun;
using toolkit::LayerComparison;
using toolkit::ReferenceFile;
using toolkit::RunShape;

std::span<const float> part(std::span<const float> values, int64_t first, int64_t count) {
  return values.subspan(static_cast<size_t>(first), static_cast<size_t>(count));
}

// KL(reference || found) of the two distributions, in nats.
double kl_divergence(std::span<const float> reference, std::span<const float> found) {
  const auto log_sum = [](std::span<const float> logits) {
    const auto top = static_cast<double>(*std::max_element(logits.begin(), logits.end()));
    double sum = 0;
    for (const float x : logits) sum += std::exp(static_cast<double>(x) - top);
    return top + std::log(sum);
  };
  const double reference_log = log_sum(reference);
  const double found_log = log_sum(found);
  double divergence = 0;
  for (size_t i = 0; i < reference.size(); ++i) {
    const double p = static_cast<double>(reference[i]) - reference_log;
    const double q = static_cast<double>(found[i]) - found_log;
    divergence += std::exp(p) * (p - q);
  }
  return std::max(divergence, 0.0);
}

// Compares piece by piece; holds one piece of the reference at a time.
class Verifier {
 public:
  Verifier(const ForwardRun& run, const ReferenceFile& file, std::string prefix)
      : run_(run), shape_(run.shape()), file_(file), prefix_(std::move(prefix)) {}

  /// Finds the tensors of the file and checks their shapes.
  Status prepare(Comparison* comparison);
  bool wants_layers() const { return layers_ != nullptr || routers_ != nullptr; }
  Status compare_piece(const ForwardRun::Piece& piece, Comparison* comparison) const;
  Status compare_memories(Comparison* comparison) const;

 private:
  Status find_optional(const char* name, const std::vector<int64_t>& shape,
                       const TensorInfo** tensor, Comparison* comparison) const;
  Status compare_logits(const ForwardRun::Piece& piece, Comparison* comparison) const;
  Status compare_outputs(const ForwardRun::Piece& piece, Comparison* comparison) const;
  Status compare_routers(const ForwardRun::Piece& piece, Comparison* comparison) const;

  const ForwardRun& run_;
  const RunShape& shape_;
  const ReferenceFile& file_;
  std::string prefix_;
  const TensorInfo* logits_ = nullptr;
  const TensorInfo* layers_ = nullptr;
  const TensorInfo* routers_ = nullptr;
  const TensorInfo* states_ = nullptr;
  const TensorInfo* rows_ = nullptr;
};

Status Verifier::find_optional(const char* name, const std::vector<int64_t>& shape,
                               const TensorInfo** tensor, Comparison* comparison) const {
  if (file_.find(prefix_ + name) == nullptr) {
    if (shape[0] > 0) comparison->absent.push_back(prefix_ + name);
    return Status();
  }
  TRINE_ASSIGN_OR_RETURN(*tensor, file_.require(prefix_ + name, shape));
  return Status();
}

Status Verifier::prepare(Comparison* comparison) {
  const RunShape& s = shape_;
  comparison->tokens = s.tokens;
  comparison->isa = run_.model().isa();
  TRINE_ASSIGN_OR_RETURN(logits_, file_.require(prefix_ + "logits", {s.tokens, s.vocab}));
  TRINE_RETURN_IF_ERROR(
      find_optional("layers", {s.layers, s.tokens, s.hidden}, &layers_, comparison));
  TRINE_RETURN_IF_ERROR(
      find_optional("router_ids", {s.moe_layers, s.tokens, s.top_k}, &routers_, comparison));
  TRINE_RETURN_IF_ERROR(find_optional("kda_state",
                                      {s.kda_layers, s.kda_heads, s.kda_head_dim, s.kda_head_dim},
                                      &states_, comparison));
  TRINE_RETURN_IF_ERROR(
      find_optional("mla_rows", {s.mla_layers, s.tokens, s.latent}, &rows_, comparison));
  for (int64_t l = 0; l < s.layers; ++l) {
    LayerComparison layer;
    layer.layer = l;
    layer.is_kda = run_.config().is_kda[static_cast<size_t>(l)];
    layer.has_output = layers_ != nullptr;
    layer.has_router = routers_ != nullptr && run_.config().is_moe(l);
    layer.has_memory = layer.is_kda ? states_ != nullptr : rows_ != nullptr;
    if (layer.has_output || layer.has_router || layer.has_memory) {
      comparison->layers.push_back(layer);
    }
  }
  return Status();
}

Status Verifier::compare_logits(const ForwardRun::Piece& piece, Comparison* comparison) const {
  const int64_t v = shape_.vocab;
  TRINE_ASSIGN_OR_RETURN(const std::vector<float> reference,
                         file_.read(*logits_, piece.begin * v, piece.tokens * v));
  for (int64_t t = 0; t < piece.tokens; ++t) {
    const std::span<const float> expected = part(reference, t * v, v);
    const std::span<const float> found = part(piece.logits, t * v, v);
    comparison->logits.add(found, expected, piece.begin + t);
    comparison->kl_sum += kl_divergence(expected, found);
    const auto top = [](std::span<const float> logits) {
      return std::max_element(logits.begin(), logits.end()) - logits.begin();
    };
    if (top(expected) == top(found)) ++comparison->top1_equal;
  }
  return Status();
}

Status Verifier::compare_outputs(const ForwardRun::Piece& piece, Comparison* comparison) const {
  const int64_t d = shape_.hidden;
  for (LayerComparison& layer : comparison->layers) {
    const int64_t first = (layer.layer * shape_.tokens + piece.begin) * d;
    TRINE_ASSIGN_OR_RETURN(const std::vector<float> reference,
                           file_.read(*layers_, first, piece.tokens * d));
    const std::span<const float> found =
        part(piece.layers, layer.layer * piece.tokens * d, piece.tokens * d);
    for (int64_t t = 0; t < piece.tokens; ++t) {
      layer.output.add(part(found, t * d, d), part(reference, t * d, d), piece.begin + t);
    }
  }
  return Status();
}

Status Verifier::compare_routers(const ForwardRun::Piece& piece, Comparison* comparison) const {
  const int64_t k = shape_.top_k;
  int64_t moe = 0;
  for (LayerComparison& layer : comparison->layers) {
    if (!layer.has_router) continue;
    const int64_t first = (moe * shape_.tokens + piece.begin) * k;
    TRINE_ASSIGN_OR_RETURN(const std::vector<float> reference,
                           file_.read(*routers_, first, piece.tokens * k));
    const int32_t* ids = piece.router_ids.data() + moe * piece.tokens * k;
    for (int64_t t = 0; t < piece.tokens; ++t) {
      const auto row = static_cast<std::ptrdiff_t>(t * k);
      std::vector<float> expected(reference.begin() + row, reference.begin() + row + k);
      std::vector<float> found(ids + row, ids + row + k);
      std::sort(expected.begin(), expected.end());
      std::sort(found.begin(), found.end());
      if (expected == found) continue;
      ++layer.router_differs;
      if (layer.router_first < 0) layer.router_first = piece.begin + t;
    }
    ++moe;
  }
  return Status();
}

Status Verifier::compare_piece(const ForwardRun::Piece& piece, Comparison* comparison) const {
  TRINE_RETURN_IF_ERROR(compare_logits(piece, comparison));
  if (layers_ != nullptr) TRINE_RETURN_IF_ERROR(compare_outputs(piece, comparison));
  if (routers_ != nullptr) TRINE_RETURN_IF_ERROR(compare_routers(piece, comparison));
  return Status();
}

Status Verifier::compare_memories(Comparison* comparison) const {
  const int64_t head = shape_.kda_head_dim * shape_.kda_head_dim;
  const std::vector<float> states =
      states_ != nullptr ? run_.sequence().kda_state() : std::vector<float>();
  const std::vector<float> rows =
      rows_ != nullptr ? run_.sequence().mla_rows() : std::vector<float>();
  int64_t kda = 0;
  int64_t mla = 0;
  for (LayerComparison& layer : comparison->layers) {
    const int64_t index = layer.is_kda ? kda++ : mla++;
    if (!layer.has_memory) continue;
    const int64_t items = layer.is_kda ? shape_.kda_heads : shape_.tokens;
    const int64_t width = layer.is_kda ? head : shape_.latent;
    const TensorInfo* tensor = layer.is_kda ? states_ : rows_;
    const int64_t first = index * items * width;
    TRINE_ASSIGN_OR_RETURN(const std::vector<float> reference,
                           file_.read(*tensor, first, items * width));
    const std::span<const float> found = part(layer.is_kda ? states : rows, first, items * width);
    for (int64_t i = 0; i < items; ++i) {
      layer.memory.add(part(found, i * width, width), part(reference, i * width, width), i);
    }
  }
  return Status();
}

}  // namespace

Result<VerifyReport> verify(const std::string& folder, const std::string& against,
                            const VerifyOptions& options) {
  TRINE_ASSIGN_OR_RETURN(const ReferenceFile file, ReferenceFile::open(against));
  std::vector<int32_t> ids = options.ids;
  if (ids.empty()) {
    TRINE_ASSIGN_OR_RETURN(ids, file.ids());
  }
  TRINE_ASSIGN_OR_RETURN(ForwardRun run, ForwardRun::start(folder, ids, options.load));
  Comparison comparison;
  comparison.tolerance = options.tolerance;
  comparison.precision = options.load.precision == Precision::kExact ? "exact" : "fast";
  Verifier verifier(run, file, options.prefix);
  TRINE_RETURN_IF_ERROR(verifier.prepare(&comparison));
  TRINE_RETURN_IF_ERROR(run.run(
      verifier.wants_layers(), options.progress,
      [&](const ForwardRun::Piece& piece) { return verifier.compare_piece(piece, &comparison); }));
  TRINE_RETURN_IF_ERROR(verifier.compare_memories(&comparison));
  VerifyReport report;
  report.json = json::dump(comparison.to_json());
  report.text = comparison.to_text();
  report.equal = comparison.equal();
  return report;
}

Result<VerifyReport> verify(const std::string& folder, const std::string& against,
                            const LoadOptions& load, double tolerance) {
  VerifyOptions options;
  options.load = load;
  options.tolerance = tolerance;
  return verify(folder, against, options);
}

}  // namespace trine
