// Cutting products into tasks, and the fused gate-and-up task of MLPs and experts.
#include "model/matmul.h"

#include <algorithm>

#include "base/try.h"
#include "kernels/pack.h"

namespace trine::model {

using kernels::kPanelOutputs;

namespace {

constexpr int64_t kTaskBytes = int64_t{96} << 10;  // weights per task when reading them is the work
constexpr int64_t kFewRows = 16;
constexpr int64_t kWidePanels = 64;  // of a task of many rows: its results stay in the second cache
constexpr int64_t kSmallOperations = 65536;  // less is not worth a barrier

int64_t share_begin(int64_t count, int64_t index, int64_t shares) { return count * index / shares; }

/// The results need more than floats in their place: they are kept in scratch in between.
bool needs_block(const MatmulJob& job) { return job.up.n > 0 || job.y.bf16 != nullptr; }

/// Blocks of rows, a task each. Evenly cut, so that none is a small rest.
int64_t row_blocks(const MatmulJob& job) { return (job.m + kMatmulRowBlock - 1) / kMatmulRowBlock; }

/// Panels per task. Few rows: enough bytes to hide the hand-over. Many rows: as many as can be,
/// since every task copies its rows of x once.
int64_t panels_per_task(const MatmulJob& job) {
  if (job.m > kFewRows) return needs_block(job) ? kMatmulPanelsMax : kWidePanels;
  const int64_t bytes = panel_range_bytes(job.w, 0, 1) * (job.up.n > 0 ? 2 : 1);
  return std::clamp<int64_t>(kTaskBytes / std::max<int64_t>(1, bytes) / 2 * 2, 2, kMatmulPanelsMax);
}

void activate(const Context& context, const float* gate, const float* up, int64_t n, float* y) {
  const checkpoint::ModelConfig& config = context.config;
  if (config.hidden_act == checkpoint::Activation::kSilu) {
    context.table.silu_mul({gate, up, n, y});
  } else {
    context.table.situ({gate, up, config.activation_situ_beta,
                        config.activation_situ_linear_beta.value_or(0.0f), n, y});
  }
}

/// Outputs of panels [begin, end) that were computed into `block` [rows][width] go where they are
/// wanted.
void store_block(const Context& context, const MatmulJob& job, int64_t first_row, int64_t rows,
                 int64_t begin, int64_t width, bool last, const float* block,
                 int64_t block_stride) {
  for (int64_t r = 0; r < rows; ++r) {
    const float* source = block + r * block_stride;
    if (job.y.f32 != nullptr && job.y.f32 + (first_row + r) * job.y.stride + begin != source) {
      std::copy(source, source + width, job.y.f32 + (first_row + r) * job.y.stride + begin);
    }
    context.store_bf16(job.y, first_row + r, begin, width, last, source);
  }
}

/// Panels [begin, end) of block `block` of the rows.
void run_block(const Context& context, const MatmulJob& job, int64_t block, int64_t begin,
               int64_t end, const MatmulScratch& scratch) {
  const Matrix w = panel_range(job.w, begin, end);
  const int64_t column = begin * kPanelOutputs;
  const int64_t first = share_begin(job.m, block, row_blocks(job));
  const int64_t rows = share_begin(job.m, block + 1, row_blocks(job)) - first;
  const Rows x = job.x_rows == nullptr ? job.x.from(first) : job.x;
  const int32_t* x_rows = job.x_rows == nullptr ? nullptr : job.x_rows + first;
  if (!needs_block(job)) {
    matmul(context, w, x, x_rows, rows, job.y.f32 + first * job.y.stride + column, job.y.stride,
           job.fp32, &scratch);
    return;
  }
  const int64_t width = (end - begin) * kPanelOutputs;
  float* gate = scratch.gate;
  matmul(context, w, x, x_rows, rows, gate, width, job.fp32, &scratch);
  if (job.up.n > 0) {
    const Matrix up = panel_range(job.up, begin, end);
    matmul(context, up, x, x_rows, rows, scratch.up, width, job.fp32, &scratch);
    for (int64_t at = 0; at < rows * width; at += width)
      activate(context, gate + at, scratch.up + at, w.n, gate + at);
  }
  store_block(context, job, first, rows, column, w.n, column + w.n == job.w.n, gate, width);
}

}  // namespace

MatmulList::MatmulList(int64_t jobs_max) {
  jobs_.reserve(static_cast<size_t>(jobs_max));
  first_task_.reserve(static_cast<size_t>(jobs_max + 1));
}

void MatmulList::add(const MatmulJob& job) {
  TRINE_CHECK(jobs_.size() < jobs_.capacity());
  if (job.m > 0 && job.w.n > 0) jobs_.push_back(job);
}

/// Tasks are numbered worker by worker, so that the pool's contiguous shares are the workers' own.
int64_t MatmulList::prepare(int workers) {
  workers_ = workers;
  first_task_.assign(1, 0);
  for (const MatmulJob& job : jobs_) {
    const int64_t panels = kernels::panel_count(job.w.n);
    const int64_t share = (panels + workers - 1) / workers;
    const int64_t per_task = panels_per_task(job);
    const int64_t ranges = (share + per_task - 1) / per_task;
    first_task_.push_back(first_task_.back() + ranges * row_blocks(job));
  }
  return first_task_.back() * workers;
}

bool MatmulList::is_small() const {
  int64_t operations = 0;
  for (const MatmulJob& job : jobs_) operations += job.m * job.w.k_padded * job.w.n;
  return operations < kSmallOperations;
}

void MatmulList::run_task(const Context& context, int64_t task, Carver scratch) const {
  const int64_t per_worker = first_task_.back();
  const int64_t worker = task / per_worker;
  const int64_t within = task % per_worker;
  const auto next = std::upper_bound(first_task_.begin(), first_task_.end(), within);
  const auto index = static_cast<size_t>(next - first_task_.begin() - 1);
  const MatmulJob& job = jobs_[index];
  const int64_t per_task = panels_per_task(job);
  const int64_t panels = kernels::panel_count(job.w.n);
  const int64_t begin = share_begin(panels, worker, workers_);
  const int64_t end = share_begin(panels, worker + 1, workers_);
  const int64_t task_of_job = within - first_task_[index];
  const int64_t from = begin + task_of_job / row_blocks(job) * per_task;
  const int64_t to = std::min(from + per_task, end);
  if (from >= to) return;
  run_block(context, job, task_of_job % row_blocks(job), from, to,
            MatmulScratch(scratch, context.int8));
}

MatmulScratch::MatmulScratch(Carver& carver, const Int8Plan& int8) {
  const int64_t block = kMatmulRowBlock * kMatmulPanelsMax * kPanelOutputs;
  gate = carver.take<float>(block);
  up = carver.take<float>(block);
  const int64_t fp4_codes = kFp4PanelsMax * kPanelOutputs * int8.fp4_k;
  const int64_t fp4_scales =
      int8.fp4_k > 0 ? kernels::scale_count(kFp4PanelsMax * kPanelOutputs, int8.fp4_k, int8.group)
                     : 0;
  codes = carver.take<uint8_t>(fp4_codes);
  scales = carver.take<float>(fp4_scales);
  offsets = carver.take<int32_t>(fp4_scales);
}

int64_t MatmulScratch::bytes(const Int8Plan& int8) {
  Carver carver(nullptr);
  MatmulScratch(carver, int8);
  return carver.bytes();
}

bool takes_bf16(const Context& context, const Matrix& w) {
  return context.bf16_inputs && !w.int8_inputs && format_allows_bf16(w.format);
}

namespace {

/// MXFP4 panels become int8 a few at a time: their codes stay in the second-level cache. Every
/// output is the same chain of sums whatever the number of panels and rows.
void matmul_fp4_int8(const Context& context, const Matrix& w, kernels::MatmulI8Args args,
                     const MatmulScratch& scratch) {
  TRINE_CHECK(scratch.codes != nullptr && w.k_padded <= context.int8.fp4_k);
  float* y = args.y;
  args.w.format = kernels::WeightFormat::kInt8;
  args.w.scale_kind = kernels::ScaleKind::kF32;
  args.w.group = context.int8.group;
  args.w.data = scratch.codes;
  args.w.scales = scratch.scales;
  args.offsets = scratch.offsets;
  const int64_t panels = kernels::panel_count(w.n);
  for (int64_t begin = 0; begin < panels; begin += kFp4PanelsMax) {
    const int64_t end = std::min(begin + kFp4PanelsMax, panels);
    context.table.int8_from_fp4(
        {w, begin, end, context.int8.group, scratch.codes, scratch.scales, scratch.offsets});
    args.w.n = std::min(w.n - begin * kPanelOutputs, (end - begin) * kPanelOutputs);
    args.panel_end = end - begin;
    args.y = y + begin * kPanelOutputs;
    context.table.matmul_i8(args);
  }
}

void matmul_int8(const Context& context, const Matrix& w, const Rows& x, const int32_t* x_rows,
                 int64_t m, float* y, int64_t y_stride, const MatmulScratch* scratch) {
  kernels::MatmulI8Args args{};
  args.x = x.int8;
  args.x_stride = x.int8_stride;
  args.x_scales = x.int8_scales;
  args.x_scale_stride = x.int8_scale_stride;
  args.x_rows = x_rows;
  args.m = m;
  args.w = w;
  args.offsets = w.offsets;
  args.panel_begin = 0;
  args.panel_end = kernels::panel_count(w.n);
  args.y = y;
  args.y_stride = y_stride;
  if (w.offsets != nullptr) return context.table.matmul_i8(args);
  matmul_fp4_int8(context, w, args, *scratch);
}

}  // namespace

void matmul(const Context& context, const Matrix& w, const Rows& x, const int32_t* x_rows,
            int64_t m, float* y, int64_t y_stride, bool fp32, const MatmulScratch* scratch) {
  if (w.int8_inputs && !fp32) return matmul_int8(context, w, x, x_rows, m, y, y_stride, scratch);
  const bool bf16 = !fp32 && takes_bf16(context, w);
  kernels::MatmulArgs args{};
  args.x = bf16 ? static_cast<const void*>(x.bf16) : x.f32;
  args.x_stride = bf16 ? x.bf16_stride : x.stride;
  args.x_rows = x_rows;
  args.m = m;
  args.w = w;
  args.panel_begin = 0;
  args.panel_end = kernels::panel_count(w.n);
  args.y = y;
  args.y_stride = y_stride;
  (bf16 ? context.table.matmul_bf16 : context.table.matmul_f32)(args);
}

}  // namespace trine::model
