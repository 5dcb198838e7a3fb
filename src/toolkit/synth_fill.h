// The bytes of one tensor of a synthetic checkpoint, any range of them at any time.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "checkpoint/config.h"
#include "tensor/dtype.h"

namespace trine {

/// What the numbers of a tensor mean. Codes and scales belong to a quantised linear module.
enum class SynthRole {
  kFloat,        ///< a plain float tensor; its distribution follows from its name
  kE2m1Codes,    ///< two nibbles per byte
  kInt4Codes,    ///< two nibbles per byte, u - 8
  kUint8Codes,   ///< one byte, u - 128 (pack-quantized int8)
  kInt8Codes,    ///< one signed byte
  kE4m3Codes,    ///< one byte
  kE8m0ForE2m1,  ///< one exponent per 32 inputs
  kE8m0ForE4m3,
  kE4m3Scale,    ///< nvfp4: one per 16 inputs, divided by the global scale
  kGlobalScale,  ///< nvfp4
  kFloatScale,   ///< float formats; `code_spread` is the standard deviation of the codes
  kWeightShape,  ///< [out, in]
  kZeroPoint,    ///< the code of zero in every place
  kGroupIndex,   ///< group of each input
  kDequantised,  ///< bf16 values of the MXFP4 module of the same name
};

struct SynthTensor {
  std::string name;
  DType dtype = DType::kBf16;
  std::vector<int64_t> shape;
  SynthRole role = SynthRole::kFloat;
  int64_t in = 0;  ///< of the linear module it belongs to (0 for others)
  int64_t out = 0;
  int64_t group = 0;
  double code_spread = 1;

  int64_t elements() const;
  int64_t bytes() const { return elements() * dtype_bytes(dtype); }
};

/// Spread of the codes of each format before scaling.
constexpr double kInt4Spread = 2.33;
constexpr double kInt8Spread = 32;
constexpr double kE4m3Spread = 16;

/// Fills tensors of one checkpoint. prepare() from one thread; fill() from any number.
class SynthFiller {
 public:
  SynthFiller(const checkpoint::ModelConfig& config, uint64_t seed)
      : config_(config), seed_(seed) {}

  /// Everything that does not depend on the range.
  struct Recipe {
    enum class Kind { kTable1, kTable2, kTable4, kNibbles, kBytes, kLiteral, kDequantised };
    Kind kind = Kind::kLiteral;
    uint64_t seed = 0;
    std::string stream;        ///< name of the random stream
    std::string scale_stream;  ///< kDequantised
    std::shared_ptr<const std::vector<uint8_t>> table;
    std::shared_ptr<const std::vector<uint8_t>> scale_table;  ///< kDequantised
    std::vector<uint8_t> literal;                             ///< repeated over the tensor
  };
  Recipe prepare(const SynthTensor& tensor);

  /// Bytes [begin, begin + bytes) of the tensor; begin is a multiple of 64.
  static void fill(const Recipe& recipe, int64_t begin, int64_t bytes, uint8_t* out);

 private:
  using Table = std::shared_ptr<const std::vector<uint8_t>>;
  Recipe float_recipe(const SynthTensor& tensor);
  Recipe literal_recipe(const SynthTensor& tensor) const;
  Recipe code_recipe(const SynthTensor& tensor);
  Recipe dequantised_recipe(const SynthTensor& tensor);
  Recipe table_recipe(DType dtype, double mean, double spread);
  Table float_table(DType dtype, double mean, double spread);
  Table byte_table(SynthRole role, double spread);
  double weight_spread(const SynthTensor& tensor) const;

  checkpoint::ModelConfig config_;
  uint64_t seed_;
  std::map<std::tuple<int, double, double>, Table> tables_;
};

}  // namespace trine
