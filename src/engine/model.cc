// Loading a model, and passes over several sequences.
#include "trine/model.h"

#include <algorithm>
#include <numeric>

#include "base/try.h"
#include "checkpoint/checkpoint.h"
#include "engine/int8_inputs.h"
#include "engine/memory_plan.h"
#include "engine/model_impl.h"
#include "platform/memory.h"
#include "platform/topology.h"

namespace trine {
namespace {

constexpr int64_t kChunkMultiple = 64;
constexpr int kThreadsMax = 1024;

Status check_options(const LoadOptions& options) {
  const auto refuse = [](const std::string& what) { return Status(Code::kInvalidArgument, what); };
  if (options.prefill_chunk <= 0 || options.prefill_chunk % kChunkMultiple != 0) {
    return refuse("prefill_chunk is " + std::to_string(options.prefill_chunk) +
                  ", expected a positive multiple of 64");
  }
  if (options.threads < 0 || options.threads > kThreadsMax) {
    return refuse("threads is " + std::to_string(options.threads) +
                  ", expected 0 (all cores) to 1024");
  }
  if (options.sequences < 1) {
    return refuse("sequences is " + std::to_string(options.sequences) + ", expected at least 1");
  }
  if (options.context < 0) {
    return refuse("context is " + std::to_string(options.context) +
                  ", expected 0 (what memory allows) or more");
  }
  if (options.int8_inputs && options.precision == Precision::kExact) {
    return refuse(
        "int8 inputs were asked for together with exact precision, which rounds "
        "nothing; take fast precision for them");
  }
  return {};
}

/// The audit without the scan of scales: packing looks at every scale anyway.
Result<checkpoint::Checkpoint> open_whole(const std::string& folder) {
  TRINE_ASSIGN_OR_RETURN(checkpoint::Checkpoint checkpoint,
                         checkpoint::Checkpoint::open(folder, {.scan_scales = false}));
  TRINE_RETURN_IF_ERROR(checkpoint.require_whole());
  return checkpoint;
}

/// A scale that packing refused: the audit with its scan lists them all.
Status explain_corrupt(const std::string& folder, Status found) {
  if (found.code() != Code::kCorrupt) return found;
  Result<checkpoint::Checkpoint> checkpoint =
      checkpoint::Checkpoint::open(folder, {.scan_scales = true});
  if (!checkpoint.ok()) return checkpoint.status();
  const Status all = checkpoint->require_whole();
  return all.ok() ? found : all;
}

std::string layer_name(int32_t bad_layer, int64_t layers) {
  if (bad_layer == model::kBadEmbedding) return "the embedding";
  if (bad_layer >= layers) return "the final norm or lm_head";
  return "layer " + std::to_string(bad_layer);
}

}  // namespace

Result<Model> Model::load(const std::string& folder, const LoadOptions& options) {
  const Impl::Planner planner =
      [&](const Impl& impl, const model::WeightSet& weights,
          const engine::PlanRequest& request) -> Result<engine::LoadPlan> {
    const engine::LoadPlan plan = engine::plan_memory(impl.config, weights, request);
    TRINE_RETURN_IF_ERROR(engine::check_memory(plan.memory, folder, options.allow_paging));
    return plan;
  };
  TRINE_ASSIGN_OR_RETURN(std::shared_ptr<Impl> impl, Impl::load(folder, options, planner));
  return Model(std::move(impl));
}

Result<std::shared_ptr<Model::Impl>> Model::Impl::load(const std::string& folder,
                                                       const LoadOptions& options,
                                                       const Planner& planner) {
  TRINE_RETURN_IF_ERROR(check_options(options));
  auto impl = std::make_shared<Impl>();
  TRINE_ASSIGN_OR_RETURN(impl->isa, choose_isa(options.isa));
  if (options.int8_inputs) TRINE_RETURN_IF_ERROR(engine::check_int8_inputs(impl->isa));
  TRINE_ASSIGN_OR_RETURN(const checkpoint::Checkpoint checkpoint, open_whole(folder));
  const Topology topology = discover_topology();
  const int threads = options.threads > 0 ? options.threads : topology.default_threads();
  impl->folder = folder;
  impl->config = checkpoint.config();
  impl->table = &kernels::kernel_table(impl->isa);
  impl->precision = options.precision;
  impl->bf16_inputs = options.precision == Precision::kFast &&
                      (impl->table->bf16_inputs || options.round_inputs_to_bf16);
  impl->sequences_max = options.sequences;

  TRINE_ASSIGN_OR_RETURN(impl->weights,
                         model::plan_weights(impl->config, &checkpoint, options.int8_inputs));
  TRINE_ASSIGN_OR_RETURN(const engine::LoadPlan plan,
                         planner(*impl, *impl->weights,
                                 {.precision = options.precision,
                                  .bf16_inputs = impl->bf16_inputs,
                                  .threads = threads,
                                  .context = options.context,
                                  .sequences = options.sequences,
                                  .prefill_chunk = options.prefill_chunk,
                                  .available_bytes = memory_limit().available_bytes}));
  impl->plan = plan.memory;
  impl->context = plan.context;
  impl->prefill_chunk = plan.prefill_chunk;

  impl->threads_loaded = threads;
  impl->pin_threads = topology.node_count > 1;
  impl->pool = std::make_unique<ThreadPool>(
      ThreadPool::Options{.threads = threads, .pin = impl->pin_threads});
  if (Status status =
          model::load_weights(checkpoint, *impl->pool, options.progress, impl->weights.get());
      !status.ok()) {
    return explain_corrupt(folder, std::move(status));
  }
  TRINE_ASSIGN_OR_RETURN(
      model::Workspace workspace,
      model::Workspace::create({.config = impl->config,
                                .rows = plan.pass_rows,
                                .context = plan.context,
                                .threads = threads,
                                .bf16_inputs = impl->bf16_inputs,
                                .keep_f32 = !impl->bf16_inputs || impl->weights->needs_f32_rows,
                                .int8 = impl->weights->int8}));
  impl->workspace = std::make_unique<model::Workspace>(std::move(workspace));
  impl->spans.reserve(static_cast<size_t>(plan.pass_rows));
  impl->row_numbers.resize(static_cast<size_t>(plan.pass_rows));
  std::iota(impl->row_numbers.begin(), impl->row_numbers.end(), 0);
  return impl;
}

Model::Model(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
Model::~Model() = default;
Model::Model(Model&&) noexcept = default;
Model& Model::operator=(Model&&) noexcept = default;

int64_t Model::vocab_size() const { return impl_->config.vocab_size; }
int64_t Model::context() const { return impl_->context; }
int64_t Model::prefill_chunk() const { return impl_->prefill_chunk; }
int Model::threads() const { return impl_->pool->threads(); }
std::vector<int64_t> Model::eos_token_ids() const { return impl_->config.eos_token_ids; }
const MemoryPlan& Model::memory_plan() const { return impl_->plan; }
std::string Model::isa() const { return isa_name(impl_->isa); }

std::string Model::kernels() const {
  const std::string f32 = impl_->table->matmul_f32_name;
  const std::string wide =
      impl_->bf16_inputs ? std::string(impl_->table->matmul_bf16_name) + "; " + f32 : f32;
  return impl_->weights->int8.group > 0
             ? "int8 inputs: " + std::string(impl_->table->matmul_i8_name) + "; " + wide
             : wide;
}

Result<Sequence> Model::new_sequence() const {
  if (impl_->sequences_alive.fetch_add(1) >= impl_->sequences_max) {
    impl_->sequences_alive.fetch_sub(1);
    return Status(Code::kBusy,
                  "all " + std::to_string(impl_->sequences_max) +
                      " sequences of the model are in use; end one, or load with more sequences");
  }
  Result<model::SequenceState> state =
      model::SequenceState::create(impl_->config, impl_->context, impl_->latent_type());
  if (!state.ok()) {
    impl_->sequences_alive.fetch_sub(1);
    return state.status();
  }
  return Sequence(std::make_unique<Sequence::Impl>(impl_, std::move(*state)));
}

Status Model::decode_batch(std::span<Sequence* const> sequences, std::span<const int32_t> ids,
                           std::vector<float>* logits) const {
  if (sequences.size() != ids.size() || sequences.empty()) {
    return {Code::kInvalidArgument, "decode_batch got " + std::to_string(sequences.size()) +
                                        " sequences and " + std::to_string(ids.size()) +
                                        " ids, expected as many, at least one"};
  }
  TRINE_RETURN_IF_ERROR(impl_->check_ids(ids));
  for (size_t i = 0; i < sequences.size(); ++i) {
    if (sequences[i]->impl_->model != impl_) {
      return {Code::kInvalidArgument,
              "sequence " + std::to_string(i) + " belongs to another model"};
    }
    if (std::find(sequences.begin(), sequences.begin() + static_cast<std::ptrdiff_t>(i),
                  sequences[i]) != sequences.begin() + static_cast<std::ptrdiff_t>(i)) {
      return {Code::kInvalidArgument, "sequence " + std::to_string(i) + " is in the batch twice"};
    }
    const Status room = sequences[i]->impl_->check_room(1);
    if (!room.ok()) return room.with_context("sequence " + std::to_string(i));
  }
  const std::lock_guard<std::mutex> lock(impl_->pass_mutex);
  const auto vocab = static_cast<size_t>(vocab_size());
  logits->resize(sequences.size() * vocab);
  Status first_failure;
  for (size_t done = 0; done < sequences.size();) {
    const size_t rows = std::min(sequences.size() - done, static_cast<size_t>(impl_->pass_rows()));
    impl_->spans.clear();
    for (size_t i = 0; i < rows; ++i) {
      impl_->spans.push_back({&sequences[done + i]->impl_->state, static_cast<int64_t>(i), 1});
    }
    model::ForwardRequest request;
    request.logit_rows = std::span(impl_->row_numbers).first(rows);
    request.logits = logits->data() + done * vocab;
    impl_->run_pass(ids.subspan(done, rows), request);
    for (size_t i = 0; i < rows; ++i) {
      Status row = impl_->row_status(static_cast<int64_t>(i));
      if (row.ok()) continue;
      sequences[done + i]->impl_->failure = row;
      if (first_failure.ok())
        first_failure = row.with_context("sequence " + std::to_string(done + i));
    }
    done += rows;
  }
  return first_failure;
}

Status Model::Impl::check_ids(std::span<const int32_t> ids) const {
  for (size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] < 0 || ids[i] >= config.vocab_size) {
      return {Code::kInvalidArgument, "id " + std::to_string(ids[i]) + " at index " +
                                          std::to_string(i) + " is outside the vocabulary of " +
                                          std::to_string(config.vocab_size)};
    }
  }
  return {};
}

void Model::Impl::run_pass(std::span<const int32_t> ids, const model::ForwardRequest& request) {
  model::Batch batch;
  batch.ids = ids.data();
  batch.rows = static_cast<int64_t>(ids.size());
  batch.spans = spans;
  batch.span_of_row = workspace->buffers().span_of_row;
  for (size_t s = 0; s < spans.size(); ++s) {
    std::fill_n(workspace->buffers().span_of_row + spans[s].row, spans[s].rows,
                static_cast<int32_t>(s));
  }
  model::forward(pass_context(), *weights, batch, request, workspace.get());
  for (const model::Span& span : spans) span.sequence->advance(span.rows);
}

Status Model::Impl::row_status(int64_t row) const {
  const int32_t bad = workspace->buffers().bad_layer[row];
  if (bad == model::kAllFinite) return {};
  return {Code::kNotFinite,
          folder + ": NaN or infinity first appears in " +
              layer_name(bad, config.num_hidden_layers) +
              "; the weights there are damaged or out of range (trine inspect --checksums), and "
              "the sequence must be reset"};
}

}  // namespace trine
