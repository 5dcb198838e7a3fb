// A config.json from anywhere: refused by name, or sizes that can be multiplied without overflow.
// Its quantization_config is parsed too, and asked about a few modules.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/json.h"
#include "checkpoint/config.h"
#include "checkpoint/expected.h"
#include "checkpoint/quant_config.h"

using trine::checkpoint::ExpectedTensor;
using trine::checkpoint::Findings;
using trine::checkpoint::ModelConfig;

namespace {

constexpr int64_t kTensorsVisited = 20'000;  ///< enough to meet every kind, few enough to be quick

void require(bool condition) {
  if (!condition) std::abort();
}

void check_whole(const ModelConfig& config) {
  require(config.is_kda.size() == static_cast<size_t>(config.num_hidden_layers));
  require(config.kda_layer_count() + config.mla_layer_count() == config.num_hidden_layers);
  require(config.state_bytes_per_sequence() >= 0);
  require(config.latent_bytes_per_token(4) >= 0);
  if (config.num_experts * config.num_hidden_layers > kTensorsVisited) return;
  for_each_expected(config, [&config](const ExpectedTensor& tensor) {
    require(tensor.elements() > 0);
    require(shape_accepted(config, tensor, tensor.shape));
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto root = trine::json::parse(text, "config.json");
  if (!root.ok()) return 0;
  Findings findings;
  const ModelConfig config = parse_config(*root, nullptr, "config.json", &findings);
  if (!has_errors(findings)) check_whole(config);
  const trine::json::Value* inner = root->find("text_config");
  for (const trine::json::Value* object : {&*root, inner}) {
    if (object == nullptr) continue;
    const auto quant = trine::checkpoint::QuantConfig::parse(object->find("quantization_config"),
                                                             "config.json", &findings);
    for (const std::string_view module :
         {"lm_head", "language_model.model.layers.3.block_sparse_moe.experts.7.w2",
          "model.layers.0.self_attn.q_proj", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"})
      quant.resolve(module, "Linear");
  }
  return 0;
}
