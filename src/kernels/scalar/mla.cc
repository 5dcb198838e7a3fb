// Absorbed attention over latent pages with online softmax, one query at a time (spec section 6).
#include <math.h>
#include <string.h>

#include "kernels/scalar/ops.h"

namespace trine::kernels::scalar {
namespace {

/// Value i of a latent row.
float latent(const MlaArgs& args, const void* page, int64_t row, int64_t i) {
  const int64_t at = row * args.row_stride + i;
  if (args.type == LatentType::kF32) {
    return static_cast<const float*>(page)[at];
  }
  const uint32_t bits = static_cast<uint32_t>(static_cast<const uint16_t*>(page)[at]) << 16;
  float value;
  memcpy(&value, &bits, sizeof(value));
  return value;
}

/// Scores of the first `count` rows of a page; returns their maximum or `max` if that is larger.
float page_scores(const MlaArgs& args, int64_t query, const void* page, int64_t count, float max,
                  float* scores) {
  const float* q = args.q + query * args.q_stride;
  for (int64_t row = 0; row < count; ++row) {
    float sum = 0.0F;
    for (int64_t i = 0; i < args.row_dim; ++i) {
      sum += q[i] * latent(args, page, row, i);
    }
    scores[row] = sum * args.scale;
    max = scores[row] > max ? scores[row] : max;
  }
  return max;
}

void attend_page(const MlaArgs& args, int64_t query, const void* page, int64_t count) {
  float p[kMlaPageRows];
  const float max = page_scores(args, query, page, count, args.max[query], p);
  const float keep = expf(args.max[query] - max);  // exp(-inf) = 0 on the first page
  float sum = 0.0F;
  for (int64_t row = 0; row < count; ++row) {
    p[row] = expf(p[row] - max);
    sum += p[row];
  }
  args.max[query] = max;
  args.sum[query] = args.sum[query] * keep + sum;
  float* acc = args.acc + query * args.acc_stride;
  for (int64_t i = 0; i < args.value_dim; ++i) {
    acc[i] *= keep;
  }
  for (int64_t row = 0; row < count; ++row) {
    for (int64_t i = 0; i < args.value_dim; ++i) {
      acc[i] += p[row] * latent(args, page, row, i);
    }
  }
}

}  // namespace

void mla(const MlaArgs& args) {
  for (int64_t query = 0; query < args.m; ++query) {
    for (int64_t page = args.page_begin; page < args.page_end; ++page) {
      const int64_t seen = args.visible[query] - page * kMlaPageRows;
      if (seen <= 0) {
        break;
      }
      attend_page(args, query, args.pages[page], seen < kMlaPageRows ? seen : kMlaPageRows);
    }
  }
}

void mla_merge(const MlaMergeArgs& args) {
  if (args.other_sum == 0.0F) {
    return;  // the other saw no row: its maximum is -inf
  }
  const float max = args.other_max > *args.max ? args.other_max : *args.max;
  const float keep = expf(*args.max - max);
  const float take = expf(args.other_max - max);
  for (int64_t i = 0; i < args.n; ++i) {
    args.acc[i] = args.acc[i] * keep + args.other_acc[i] * take;
  }
  *args.sum = *args.sum * keep + args.other_sum * take;
  *args.max = max;
}

void mla_finish(const MlaFinishArgs& args) {
  const float inverse = 1.0F / args.sum;
  for (int64_t i = 0; i < args.n; ++i) {
    args.y[i] = args.acc[i] * inverse;
  }
}

}  // namespace trine::kernels::scalar
