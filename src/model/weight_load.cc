// Reading every weight once, straight into its place in the arena.
#include <algorithm>
#include <cmath>

#include "base/try.h"
#include "model/weight_plan.h"

namespace trine::model {

using checkpoint::Checkpoint;

namespace {

constexpr int64_t kBatchBytes = int64_t{64} << 20;  // read between two reports of progress

Status load_vector(const Checkpoint& checkpoint, const FloatItem& item, float* out) {
  switch (item.kind) {
    case FloatItem::Kind::kPlain: return checkpoint.read_floats(item.name, out, item.count);
    case FloatItem::Kind::kExp: {
      const checkpoint::TensorInfo* tensor = checkpoint.find(item.name);
      if (tensor == nullptr || tensor->elements() < item.count) {
        return {Code::kCorrupt,
                item.name + ": fewer elements than " + std::to_string(item.count) + " heads"};
      }
      std::vector<float> stored(static_cast<size_t>(tensor->elements()));
      TRINE_RETURN_IF_ERROR(checkpoint.read_floats(item.name, stored.data(), tensor->elements()));
      for (int64_t i = 0; i < item.count; ++i) out[i] = std::exp(stored[static_cast<size_t>(i)]);
      return {};
    }
    case FloatItem::Kind::kTaps: {
      std::vector<float> stored(static_cast<size_t>(item.count));
      TRINE_RETURN_IF_ERROR(checkpoint.read_floats(item.name, stored.data(), item.count));
      const int64_t channels = item.count / item.taps;
      for (int64_t i = 0; i < item.count; ++i)
        out[(i % item.taps) * channels + i / item.taps] = stored[static_cast<size_t>(i)];
      return {};
    }
    case FloatItem::Kind::kProduct: {
      std::vector<float> factor(static_cast<size_t>(item.count));
      TRINE_RETURN_IF_ERROR(checkpoint.read_floats(item.name, out, item.count));
      TRINE_RETURN_IF_ERROR(checkpoint.read_floats(item.second, factor.data(), item.count));
      for (int64_t i = 0; i < item.count; ++i) out[i] *= factor[static_cast<size_t>(i)];
      return {};
    }
  }
  return {};
}

/// Parallel reading with the first error kept per worker.
class Loader {
 public:
  Loader(const Checkpoint& checkpoint, ThreadPool& pool,
         const std::function<void(int64_t, int64_t)>& progress, WeightSet* weights)
      : checkpoint_(checkpoint),
        pool_(pool),
        progress_(progress),
        weights_(*weights),
        scratch_(static_cast<size_t>(pool.threads())),
        failures_(static_cast<size_t>(pool.threads())) {}

  Status run() {
    TRINE_RETURN_IF_ERROR(embedding());
    TRINE_RETURN_IF_ERROR(matrices());
    for (const FloatItem& item : weights_.plan->vectors) {
      auto* out = reinterpret_cast<float*>(weights_.arena.data() + item.offset);
      TRINE_RETURN_IF_ERROR(load_vector(checkpoint_, item, out));
      *item.target = out;
    }
    report(weights_.bytes - done_);
    return {};
  }

 private:
  void report(int64_t bytes) {
    done_ += bytes;
    if (progress_) progress_(done_, weights_.bytes);
  }

  Status first_failure() const {
    for (const Status& status : failures_) TRINE_RETURN_IF_ERROR(status);
    return {};
  }

  /// fn(begin, end, worker) on the worker's share of `count` things.
  template <typename Fn>
  Status shares(int64_t count, Fn&& fn) {
    const int64_t workers = pool_.threads();
    pool_.parallel_for_static(workers, [&](int64_t worker, int) {
      const auto index = static_cast<size_t>(worker);
      if (failures_[index].ok()) {
        failures_[index] =
            fn(count * worker / workers, count * (worker + 1) / workers, &scratch_[index]);
      }
    });
    return first_failure();
  }

  Status embedding() {
    const WeightSet::Plan& plan = *weights_.plan;
    EmbeddingTable& table = weights_.embed_tokens;
    auto* out = reinterpret_cast<uint8_t*>(weights_.arena.data() + plan.embedding_offset);
    table.data = out;
    const int64_t step = std::max<int64_t>(1, kBatchBytes / table.row_bytes);
    for (int64_t row = 0; row < plan.embedding.out; row += step) {
      const int64_t rows = std::min(step, plan.embedding.out - row);
      TRINE_RETURN_IF_ERROR(shares(rows, [&](int64_t begin, int64_t end, PackScratch*) -> Status {
        if (begin == end) return {};
        uint8_t* place = out + (row + begin) * table.row_bytes;
        if (plan.embedding_by_value) {
          return checkpoint_.dequantise_rows(plan.embedding, row + begin, row + end,
                                             reinterpret_cast<float*>(place));
        }
        return checkpoint_.read(*plan.embedding.codes, (row + begin) * table.row_bytes, place,
                                (end - begin) * table.row_bytes);
      }));
      report(rows * table.row_bytes);
    }
    return {};
  }

  /// In the order of the files, so that a cold disk is read forwards.
  Status matrices() {
    std::vector<const PackItem*> order;
    for (PackItem& item : weights_.plan->matrices) {
      item.target->view.data =
          reinterpret_cast<const uint8_t*>(weights_.arena.data() + item.code_offset);
      const std::byte* scales = weights_.arena.data() + item.scale_offset;
      item.target->view.scales = scales;
      if (item.target->offset_bytes() > 0) {
        item.target->view.offsets =
            reinterpret_cast<const int32_t*>(scales + item.target->scale_bytes());
      }
      order.push_back(&item);
    }
    std::sort(order.begin(), order.end(), [](const PackItem* a, const PackItem* b) {
      if (a->linear.codes->file != b->linear.codes->file)
        return a->linear.codes->file < b->linear.codes->file;
      return a->linear.codes->offset < b->linear.codes->offset;
    });
    const int64_t workers = pool_.threads();
    for (size_t first = 0; first < order.size();) {
      int64_t bytes = 0;
      size_t last = first;
      for (; last < order.size() && (last == first || bytes < kBatchBytes); ++last)
        bytes += order[last]->target->bytes();
      TRINE_RETURN_IF_ERROR(
          shares(workers, [&](int64_t worker, int64_t, PackScratch* scratch) -> Status {
            Status status;
            for (size_t i = first; i < last && status.ok(); ++i) {
              const int64_t panels = order[i]->target->panels();
              status = pack_panels(checkpoint_, *order[i], panels * worker / workers,
                                   panels * (worker + 1) / workers, scratch);
            }
            return status;
          }));
      report(bytes);
      first = last;
    }
    return {};
  }

  const Checkpoint& checkpoint_;
  ThreadPool& pool_;
  const std::function<void(int64_t, int64_t)>& progress_;
  WeightSet& weights_;
  std::vector<PackScratch> scratch_;
  std::vector<Status> failures_;
  int64_t done_ = 0;
};

}  // namespace

Status load_weights(const Checkpoint& checkpoint, ThreadPool& pool,
                    const std::function<void(int64_t, int64_t)>& progress, WeightSet* weights) {
  TRINE_ASSIGN_OR_RETURN(weights->arena, Buffer::allocate(weights->bytes));
  Status status = Loader(checkpoint, pool, progress, weights).run();
  weights->plan.reset();
  return status;
}

}  // namespace trine::model
