// trine logits: what a model computes for a prompt, as a safetensors file.
#include <vector>

#include "base/try.h"
#include "toolkit/forward_run.h"
#include "toolkit/safetensors_writer.h"
#include "trine/toolkit.h"

namespace trine {
namespace {

using toolkit::ForwardRun;
using toolkit::RunShape;
using toolkit::SafetensorsWriter;
using toolkit::TensorSpec;

// Order of the tensors in the file.
enum : int64_t { kLogits, kLayers, kRouterIds, kKdaState, kMlaRows };

constexpr int64_t kFloatBytes = sizeof(float);

std::vector<TensorSpec> tensor_specs(const RunShape& s, bool layers) {
  std::vector<TensorSpec> specs{{"logits", DType::kF32, {s.tokens, s.vocab}}};
  if (!layers) return specs;
  specs.push_back({"layers", DType::kF32, {s.layers, s.tokens, s.hidden}});
  specs.push_back({"router_ids", DType::kF32, {s.moe_layers, s.tokens, s.top_k}});
  specs.push_back(
      {"kda_state", DType::kF32, {s.kda_layers, s.kda_heads, s.kda_head_dim, s.kda_head_dim}});
  specs.push_back({"mla_rows", DType::kF32, {s.mla_layers, s.tokens, s.latent}});
  return specs;
}

std::string ids_text(std::span<const int32_t> ids) {
  std::string text = "[";
  for (const int32_t id : ids) {
    if (text.size() > 1) text += ',';
    text += std::to_string(id);
  }
  return text + "]";
}

SafetensorsWriter::Metadata metadata_of(std::span<const int32_t> ids, const Model& model,
                                        Precision precision) {
  return {{"format", "trine-logits"},
          {"ids", ids_text(ids)},
          {"precision", precision == Precision::kExact ? "exact" : "fast"},
          {"isa", model.isa()},
          {"kernels", model.kernels()}};
}

Status write_floats(SafetensorsWriter* writer, int64_t tensor, int64_t first,
                    std::span<const float> values) {
  return writer->write(tensor, first * kFloatBytes, values.data(),
                       static_cast<int64_t>(values.size()) * kFloatBytes);
}

// [groups][piece tokens][width] into [groups][all tokens][width].
Status write_rows(SafetensorsWriter* writer, int64_t tensor, int64_t groups, int64_t width,
                  const RunShape& shape, const ForwardRun::Piece& piece,
                  std::span<const float> values) {
  const int64_t count = piece.tokens * width;
  for (int64_t group = 0; group < groups; ++group) {
    const int64_t first = (group * shape.tokens + piece.begin) * width;
    TRINE_RETURN_IF_ERROR(write_floats(
        writer, tensor, first,
        values.subspan(static_cast<size_t>(group * count), static_cast<size_t>(count))));
  }
  return Status();
}

Status write_piece(SafetensorsWriter* writer, const RunShape& shape, const ForwardRun::Piece& piece,
                   bool layers) {
  TRINE_RETURN_IF_ERROR(write_rows(writer, kLogits, 1, shape.vocab, shape, piece, piece.logits));
  if (!layers) return Status();
  TRINE_RETURN_IF_ERROR(
      write_rows(writer, kLayers, shape.layers, shape.hidden, shape, piece, piece.layers));
  const std::vector<float> routers(piece.router_ids.begin(), piece.router_ids.end());
  return write_rows(writer, kRouterIds, shape.moe_layers, shape.top_k, shape, piece, routers);
}

}  // namespace

Status write_logits(const std::string& folder, std::span<const int32_t> ids,
                    const LogitsOptions& options) {
  // What can be refused is refused before the weights are read.
  TRINE_RETURN_IF_ERROR(SafetensorsWriter::target_of(options.out).status());
  TRINE_ASSIGN_OR_RETURN(ForwardRun run, ForwardRun::start(folder, ids, options.load));
  const RunShape& shape = run.shape();
  TRINE_ASSIGN_OR_RETURN(
      SafetensorsWriter writer,
      SafetensorsWriter::create(options.out, tensor_specs(shape, options.layers),
                                metadata_of(ids, run.model(), options.load.precision)));
  TRINE_RETURN_IF_ERROR(
      run.run(options.layers, options.progress, [&](const ForwardRun::Piece& piece) {
        return write_piece(&writer, shape, piece, options.layers);
      }));
  if (options.layers) {
    const std::vector<float> state = run.sequence().kda_state();
    TRINE_RETURN_IF_ERROR(write_floats(&writer, kKdaState, 0, state));
    const std::vector<float> rows = run.sequence().mla_rows();
    TRINE_RETURN_IF_ERROR(write_floats(&writer, kMlaRows, 0, rows));
  }
  return writer.finish();
}

}  // namespace trine
