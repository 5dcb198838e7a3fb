// One forward pass: which rows of which sequences, and the scratch that layers share.
#pragma once

#include <cstdint>
#include <span>

#include "model/carver.h"
#include "model/context.h"
#include "model/matmul.h"
#include "model/sequence_state.h"

namespace trine::model {

/// Consecutive new tokens of one sequence: rows [row, row + rows) of the batch.
struct Span {
  SequenceState* sequence = nullptr;
  int64_t row = 0;
  int64_t rows = 0;

  /// Absolute position of the span's first token.
  int64_t position() const { return sequence->position(); }
};

struct Batch {
  const int32_t* ids = nullptr;  ///< [rows]
  int64_t rows = 0;
  std::span<const Span> spans;
  const int32_t* span_of_row = nullptr;  ///< [rows]

  int64_t position(int64_t row) const {
    const Span& span = spans[static_cast<size_t>(span_of_row[row])];
    return span.position() + row - span.row;
  }
};

/// One private block per worker.
struct WorkerScratch {
  std::byte* base = nullptr;
  int64_t bytes = 0;

  Carver carve(int worker) const { return Carver(base + worker * bytes); }
};

struct Pass {
  const Context& context;
  const Batch& batch;
  const WorkerScratch& scratch;
  MatmulList& products;
};

/// What the sizes of all buffers follow from.
struct BufferShape {
  const checkpoint::ModelConfig& config;
  int64_t rows = 0;     ///< of one pass at most
  int64_t context = 0;  ///< tokens of a sequence at most
  int threads = 1;
  bool bf16_inputs = false;
  bool keep_f32 = true;  ///< somebody reads the float rows of every matmul input
  Int8Plan int8 = {};    ///< of the weights

  /// Who multiplies rows.
  enum class Readers {
    kBf16,  ///< only matrices that never take int8 inputs
    kInt8,  ///< only matrices that do where they can
    kBoth,
  };

  /// Inputs of matmuls: the copies that are read. int8 copies are made of the floats.
  Rows rows_of(Carver& carver, int64_t count, int64_t width, bool always_f32,
               Readers readers = Readers::kInt8) const {
    const bool as_int8 = int8.group > 0 && readers != Readers::kBf16;
    Rows r;
    r.stride = width;
    r.bf16_stride = round_up(width, kernels::kKPadding);
    if (always_f32 || keep_f32 || as_int8) r.f32 = carver.take<float>(count * width);
    if (bf16_inputs && !(as_int8 && int8.whole && readers == Readers::kInt8))
      r.bf16 = carver.take<uint16_t>(count * r.bf16_stride);
    if (as_int8) {
      r.int8_stride = r.bf16_stride;
      r.int8_scale_stride = (r.int8_stride + int8.group - 1) / int8.group;
      r.int8 = carver.take<uint8_t>(count * r.int8_stride);
      r.int8_scales = carver.take<float>(count * r.int8_scale_stride);
    }
    return r;
  }
};

}  // namespace trine::model
