// Gated MLA layer in its absorbed form (spec section 6).
#pragma once

#include "model/pass.h"
#include "model/weights.h"

namespace trine::model {

/// Long contexts are cut into spans of latent rows that are attended apart and merged in ascending
/// order. The cuts depend on absolute positions alone: every 1024 rows up to 16 Ki, 4096 up to 64
/// Ki, then 16 Ki (coarser further out, so that the partial results of one query stay few).
int64_t latent_span_begin(int64_t span);
/// Spans that the first `rows` rows touch.
int64_t latent_span_count(int64_t rows);

/// Queries that attend together: same sequence, neighbouring (row, head) pairs.
struct QueryBlock {
  int64_t span = 0;
  int64_t query = 0;
  int64_t count = 0;
};

struct MlaBuffers {
  float* q = nullptr;          ///< [rows][n (dn + dr)], without q-LoRA
  Rows q_a;                    ///< [rows][q_lora]
  float* kv_a = nullptr;       ///< [rows][r + dr]
  float* gate = nullptr;       ///< [rows][n dv]
  Rows o;                      ///< [rows][n dv]
  int64_t block_rows = 0;      ///< rows whose queries are in flight
  float* absorbed = nullptr;   ///< [block_rows * n][latent stride]: queries in latent space
  int64_t* visible = nullptr;  ///< [block_rows * n]
  QueryBlock* blocks = nullptr;
  int64_t partials = 0;  ///< results that fit: [latent span][query]
  float* max = nullptr;  ///< [partials]
  float* sum = nullptr;  ///< [partials]
  float* acc = nullptr;  ///< [partials][acc_stride]
  int64_t acc_stride = 0;

  MlaBuffers(Carver& carver, const BufferShape& shape);
  static int64_t worker_bytes(const checkpoint::ModelConfig& config);
};

/// out [rows][d] = MLA(x) of the `index`-th MLA layer; appends its latent rows.
void mla(const Pass& pass, const MlaWeights& w, int64_t index, const Rows& x,
         const MlaBuffers& buffers, float* out);

}  // namespace trine::model
