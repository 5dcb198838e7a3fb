// Random weights of one linear module in any coding, and the floats that they stand for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "checkpoint/checkpoint.h"
#include "support/safetensors_writer.h"

namespace trine::testing {

/// splitmix64: the same numbers on every machine.
class TestRandom {
 public:
  explicit TestRandom(uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15u + 1) {}
  uint64_t next();
  int below(int n) { return static_cast<int>(next() % static_cast<uint64_t>(n)); }
  /// Sum of 12 uniform numbers: near enough to a normal one.
  float normal();

 private:
  uint64_t state_;
};

/// How one module is stored.
struct ModuleCoding {
  checkpoint::WeightCoding coding = checkpoint::WeightCoding::kPlain;
  DType dtype = DType::kBf16;       ///< of plain weights
  DType scale_dtype = DType::kF32;  ///< of integer and fp8 codings
  int64_t group = 0;                ///< inputs per scale of integer codings; 0 = one per output
  bool per_tensor = false;          ///< one scale in all
  bool blocks = false;              ///< fp8: 128x128
  bool zero_point = false;
  bool g_idx = false;      ///< shuffled group numbers
  bool scale_inv = false;  ///< fp8: the scale's name is weight_scale_inv
};
ModuleCoding plain(DType dtype);
ModuleCoding bf16();
ModuleCoding mxfp4();
ModuleCoding nvfp4();
ModuleCoding mxfp8();
ModuleCoding int4(int64_t group);
ModuleCoding int8_packed(int64_t group);
ModuleCoding int8();
ModuleCoding fp8();
ModuleCoding fp8_blocks();

/// Writes the tensors "MODULE.weight..." and returns the weights, row-major.
std::vector<float> write_module(const std::string& module, int64_t out, int64_t in,
                                const ModuleCoding& coding, TestRandom* random,
                                RawTensors* tensors);

/// {"format", "weights"} of a config group for this coding.
json::Value scheme_of(const ModuleCoding& coding);

}  // namespace trine::testing
