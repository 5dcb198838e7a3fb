// `trine bench`: this machine's limits and a model's speed, measured in one run
// (docs/guide/bench.md).
//
// Order: costs from the headers; loads (the last one counts, its files are in the page cache) with
// the peak memory of one sequence; quiet rows, repeated in turn with samples of the machine's
// limits between them; the router's choices; the same rows beside a busy neighbour.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "base/json.h"
#include "base/try.h"
#include "checkpoint/checkpoint.h"
#include "engine/cost_model.h"
#include "kernels/table.h"
#include "platform/cpu.h"
#include "platform/memory.h"
#include "toolkit/bench_busy.h"
#include "toolkit/bench_peaks.h"
#include "toolkit/bench_report.h"
#include "toolkit/bench_roof.h"
#include "toolkit/bench_run.h"
#include "toolkit/machine.h"
#include "trine/toolkit.h"

namespace trine {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int64_t kReadBytesMin = int64_t{16} << 20;
constexpr int64_t kFirstPrompt = 16;
// A repeat of a row that took longer than this is not repeated again.
constexpr double kLongSeconds = 45;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::string with_decimals(double value, int64_t scale) {
  const int64_t units = std::llround(value * static_cast<double>(scale));
  std::string rest = std::to_string(units % scale + scale);
  return std::to_string(units / scale) + "." + rest.substr(1);
}

Status check_sizes(const BenchOptions& options) {
  const auto refuse = [](const std::string& what) {
    return Status(Code::kInvalidArgument, "bench: " + what);
  };
  for (const int64_t n : options.prefill_tokens)
    if (n < 1) return refuse("prefill sizes must be positive");
  for (const int64_t n : options.decode_depths)
    if (n < 0) return refuse("decode depths must be 0 or more");
  for (const int64_t n : options.batches)
    if (n < 1) return refuse("batches must be positive");
  if (options.decode_tokens < 1) return refuse("decode_tokens must be positive");
  if (options.read_bytes < kReadBytesMin) return refuse("read_bytes must be at least 16 MiB");
  if (options.repeats < 1) return refuse("repeats must be positive");
  return Status();
}

class Bench {
 public:
  Bench(std::string folder, const BenchOptions& options)
      : folder_(std::move(folder)), options_(options) {}

  Result<BenchReport> run() {
    TRINE_RETURN_IF_ERROR(check_sizes(options_));
    TRINE_ASSIGN_OR_RETURN(isa_, choose_isa(options_.load.isa));
    make_cases();
    TRINE_RETURN_IF_ERROR(read_config());
    TRINE_RETURN_IF_ERROR(drop_beyond_context());
    TRINE_RETURN_IF_ERROR(load());
    TRINE_RETURN_IF_ERROR(plan_costs());
    TRINE_RETURN_IF_ERROR(warm_up());
    TRINE_RETURN_IF_ERROR(make_meter());
    TRINE_RETURN_IF_ERROR(quiet_rows());
    TRINE_RETURN_IF_ERROR(count_experts());
    if (options_.busy) TRINE_RETURN_IF_ERROR(busy_rows());
    return report();
  }

 private:
  void say(const std::string& line) const {
    if (options_.progress) options_.progress(line);
  }

  void add_case(const char* kind, int64_t tokens, int64_t depth, int64_t batch) {
    for (const BenchCase& known : cases_)
      if (known.row.kind == kind && known.row.tokens == tokens && known.row.depth == depth &&
          known.row.batch == batch)
        return;
    BenchCase added;
    added.row.kind = kind;
    added.row.tokens = tokens;
    added.row.depth = depth;
    added.row.batch = batch;
    cases_.push_back(std::move(added));
  }

  void make_cases() {
    for (const int64_t tokens : options_.prefill_tokens) add_case("prefill", tokens, 0, 1);
    for (const int64_t depth : options_.decode_depths)
      add_case("decode", options_.decode_tokens, depth, 1);
    for (const int64_t batch : options_.batches)
      add_case("decode", options_.decode_tokens * batch, 0, batch);
  }

  Status read_config() {
    TRINE_ASSIGN_OR_RETURN(const auto checkpoint,
                           checkpoint::Checkpoint::open(folder_, {.scan_scales = false}));
    config_ = checkpoint.config();
    for (const auto& file : checkpoint.files()) file_bytes_ += file.bytes;
    return Status();
  }

  static int64_t tokens_held(const BenchCase& c) {
    return c.row.kind == "prefill" ? c.row.tokens : c.row.depth + c.row.tokens / c.row.batch;
  }

  void leave_out(std::vector<BenchCase>::iterator which, const std::string& reason) {
    left_out_.push_back({which->row, reason});
    cases_.erase(which);
  }

  /// Sizes that the model, or the context asked for, has no room for.
  Status drop_beyond_context() {
    int64_t limit = std::numeric_limits<int64_t>::max();
    if (config_.max_position_embeddings > 0) limit = config_.max_position_embeddings;
    if (options_.load.context > 0) limit = std::min(limit, options_.load.context);
    const std::string reason = "beyond the context of " + std::to_string(limit) + " tokens";
    for (auto c = cases_.begin(); c != cases_.end();) {
      if (tokens_held(*c) <= limit) {
        ++c;
        continue;
      }
      const auto index = c - cases_.begin();
      leave_out(c, reason);
      c = cases_.begin() + index;
    }
    if (!cases_.empty() || left_out_.empty()) return Status();
    return Status(Code::kInvalidArgument,
                  "bench: every size is " + reason + "; give smaller ones, or a larger context");
  }

  /// Room for every case; what the memory cannot hold is left out, largest first.
  LoadOptions load_options() const {
    LoadOptions load = options_.load;
    load.context = kFirstPrompt + 1;
    load.sequences = 1;
    for (const BenchCase& c : cases_) {
      load.context = std::max(load.context, tokens_held(c));
      load.sequences = std::max(load.sequences, c.row.batch);
    }
    load.progress = nullptr;
    return load;
  }

  Result<BenchRow> timed_load(bool busy) {
    model_.reset();
    const Clock::time_point start = Clock::now();
    auto loaded = Model::load(folder_, load_options());
    while (!loaded.ok() && loaded.status().code() == Code::kOutOfMemory && drop_largest_case())
      loaded = Model::load(folder_, load_options());
    TRINE_RETURN_IF_ERROR(loaded.status());
    model_ = std::make_unique<Model>(std::move(*loaded));
    BenchRow row;
    row.kind = "load";
    row.busy = busy;
    row.samples = {seconds_since(start)};
    first_.kind = "first_token";
    first_.busy = busy;
    first_.tokens = kFirstPrompt;
    TRINE_ASSIGN_OR_RETURN(auto sequence, model_->new_sequence());
    std::vector<int32_t> ids;
    for (int64_t i = 0; i < kFirstPrompt; ++i) ids.push_back(bench_id(0, i, model_->vocab_size()));
    TRINE_RETURN_IF_ERROR(sequence.prefill(ids).status());
    first_.samples = {seconds_since(start)};
    say((busy ? "load, busy: " : "load: ") + with_decimals(row.seconds(), 1000) +
        " s, first token after " + with_decimals(first_.seconds(), 1000) + " s");
    return row;
  }

  bool drop_largest_case() {
    const auto size = [](const BenchCase& c) {
      return c.row.batch * (c.row.kind == "prefill" ? c.row.tokens : c.row.depth + 1);
    };
    const auto largest =
        std::max_element(cases_.begin(), cases_.end(),
                         [&](const auto& a, const auto& b) { return size(a) < size(b); });
    if (cases_.size() <= 1) return false;
    leave_out(largest, "not enough memory");
    return true;
  }

  Status load() {
    say("loading twice: the second time the files are in the page cache");
    TRINE_RETURN_IF_ERROR(timed_load(false).status());
    model_.reset();
    (void)reset_peak_rss();
    TRINE_ASSIGN_OR_RETURN(auto row, timed_load(false));
    rows_.push_back(std::move(row));
    rows_.push_back(first_);
    return Status();
  }

  Status plan_costs() {
    TRINE_ASSIGN_OR_RETURN(const auto checkpoint,
                           checkpoint::Checkpoint::open(folder_, {.scan_scales = false}));
    TRINE_ASSIGN_OR_RETURN(const auto weights,
                           model::plan_weights(config_, &checkpoint, options_.load.int8_inputs));
    const bool bf16 =
        options_.load.precision == Precision::kFast &&
        (kernels::kernel_table(isa_).bf16_inputs || options_.load.round_inputs_to_bf16);
    const int64_t experts = config_.num_experts;
    const int64_t picked = config_.num_experts_per_token;
    const int64_t chunk = model_->prefill_chunk();
    for (BenchCase& c : cases_) {
      if (c.row.kind == "prefill") {
        c.cost = engine::prefill_cost(config_, *weights, c.row.tokens, 0, chunk, bf16);
        int64_t passes = 0;
        for (int64_t begin = 0; begin < c.row.tokens; begin += chunk, ++passes)
          c.expected_experts +=
              engine::expected_experts(experts, picked, std::min(chunk, c.row.tokens - begin));
        c.expected_experts /= static_cast<double>(passes);
        continue;
      }
      const int64_t steps = c.row.tokens / c.row.batch;
      const engine::PassShape shape{.sequences = c.row.batch,
                                    .rows = 1,
                                    .depth = c.row.depth + steps / 2,
                                    .logit_rows = c.row.batch};
      c.cost = engine::pass_cost(config_, *weights, shape, bf16);
      for (engine::Cost& part : c.cost.costs) {
        part.bytes *= static_cast<double>(steps);
        part.operations *= static_cast<double>(steps);
      }
      c.expected_experts = engine::expected_experts(experts, picked, c.row.batch);
    }
    return Status();
  }

  /// Everything once, untimed; the peak memory of one sequence at work.
  Status warm_up() {
    runner_ = std::make_unique<BenchRunner>(*model_, options_);
    for (const BenchCase& c : cases_) {
      if (c.row.batch > 1 || c.row.depth > 0) continue;
      say("warming up: " + c.row.kind + " of " + std::to_string(c.row.tokens));
      TRINE_RETURN_IF_ERROR(runner_->time(c.row).status());
    }
    peak_rss_ = peak_rss_bytes();
    return Status();
  }

  Status make_meter() {
    const int64_t bytes =
        std::clamp(memory_limit().available_bytes / 8, kReadBytesMin, options_.read_bytes);
    TRINE_ASSIGN_OR_RETURN(auto meter, PeakMeter::create(isa_, model_->threads(), bytes));
    meter_ = std::make_unique<PeakMeter>(std::move(meter));
    return Status();
  }

  void report_sample(const BenchRow& row) const {
    const double seconds = row.samples.back();
    say(row.kind + (row.busy ? ", busy" : "") + ": " + std::to_string(row.tokens) +
        " tokens, depth " + std::to_string(row.depth) + ", batch " + std::to_string(row.batch) +
        ": " + with_decimals(static_cast<double>(row.tokens) / seconds, 100) + " tok/s");
  }

  Status quiet_rows() {
    for (int repeat = 0; repeat < options_.repeats; ++repeat)
      for (BenchCase& c : cases_) {
        if (repeat > 0 && c.row.samples.back() > kLongSeconds) continue;
        meter_->sample();
        TRINE_ASSIGN_OR_RETURN(const double seconds, runner_->time(c.row));
        c.row.samples.push_back(seconds);
        report_sample(c.row);
      }
    meter_->sample();
    return Status();
  }

  Status count_experts() {
    const int64_t layers = config_.moe_layer_count();
    for (BenchCase& c : cases_) {
      // One row meets exactly as many experts as it picks.
      if (layers > 0 && (c.row.kind == "prefill" || c.row.batch > 1)) {
        say("counting the experts that " + c.row.kind + " of " + std::to_string(c.row.tokens) +
            " meets");
        TRINE_ASSIGN_OR_RETURN(
            c.actual_experts, runner_->count_experts(c.row, layers, config_.num_experts_per_token));
        use_actual_experts(&c.cost, c.expected_experts, c.actual_experts);
      }
    }
    const Peaks peaks = meter_->peaks();
    for (BenchCase& c : cases_) {
      c.row.bytes = c.cost.bytes();
      c.row.roof_seconds = roof_seconds(c.cost, peaks);
      rows_.push_back(c.row);
    }
    return Status();
  }

  Status busy_rows() {
    machine_limits_ = meter_->to_json();
    machine_text_ = meter_->to_text();
    meter_.reset();
    const BusyNeighbour neighbour;
    for (const BenchCase& c : cases_) {
      BenchRow row = c.row;
      row.busy = true;
      row.samples.clear();
      for (int repeat = 0; repeat < options_.repeats; ++repeat) {
        if (repeat > 0 && row.samples.back() > kLongSeconds) break;
        TRINE_ASSIGN_OR_RETURN(const double seconds, runner_->time(row));
        row.samples.push_back(seconds);
        report_sample(row);
      }
      rows_.push_back(std::move(row));
    }
    runner_.reset();
    TRINE_ASSIGN_OR_RETURN(auto row, timed_load(true));
    rows_.push_back(std::move(row));
    rows_.push_back(first_);
    return Status();
  }

  json::Value model_json() const {
    const MemoryPlan& plan = model_->memory_plan();
    json::Value value = json::Value::object();
    value.set("folder", folder_);
    value.set("hidden_size", config_.hidden_size);
    value.set("num_hidden_layers", config_.num_hidden_layers);
    value.set("num_experts", config_.num_experts);
    value.set("num_experts_per_token", config_.num_experts_per_token);
    value.set("hidden_act", config_.hidden_act == checkpoint::Activation::kSitu ? "situ" : "silu");
    value.set("file_bytes", file_bytes_);
    value.set("weight_bytes", plan.weight_bytes);
    value.set("precision", options_.load.precision == Precision::kExact ? "exact" : "fast");
    value.set("int8_inputs", options_.load.int8_inputs);
    value.set("isa", model_->isa());
    value.set("kernels", model_->kernels());
    value.set("threads", model_->threads());
    value.set("prefill_chunk", model_->prefill_chunk());
    return value;
  }

  Result<BenchReport> report() {
    if (meter_ != nullptr) {
      machine_limits_ = meter_->to_json();
      machine_text_ = meter_->to_text();
    }
    const Machine machine = describe_machine(isa_);
    json::Value root = json::Value::object();
    json::Value machine_value = to_json(machine);
    machine_value.set("limits", machine_limits_);
    root.set("machine", std::move(machine_value));
    root.set("model", model_json());
    json::Value rows = json::Value::array();
    for (const BenchRow& row : rows_) rows.push(row.to_json());
    root.set("rows", std::move(rows));
    root.set("left_out", to_json(left_out_));
    root.set("peak_rss_bytes", peak_rss_);
    BenchReport report;
    report.json = json::dump_pretty(root) + "\n";
    report.text = to_text(machine) + machine_text_ + "\n" + folder_ + ": " +
                  format_bytes(file_bytes_) + ", " + model_->kernels() + ", " +
                  std::to_string(model_->threads()) + " threads, " + "chunks of " +
                  std::to_string(model_->prefill_chunk()) + "\n" + bench_table(rows_) +
                  bench_left_out(left_out_) + bench_above_roof(rows_) + "\n" + bench_ratios(rows_) +
                  "peak memory " + format_bytes(peak_rss_) + ", the files are " +
                  format_bytes(file_bytes_) + "\n" + bench_noise(rows_);
    return report;
  }

  std::string folder_;
  const BenchOptions& options_;
  Isa isa_ = Isa::kScalar;
  checkpoint::ModelConfig config_;
  int64_t file_bytes_ = 0;
  int64_t peak_rss_ = 0;
  std::vector<BenchCase> cases_;
  std::vector<BenchRow> rows_;
  BenchRow first_;
  std::unique_ptr<Model> model_;
  std::unique_ptr<BenchRunner> runner_;  // refers to *model_
  std::unique_ptr<PeakMeter> meter_;
  json::Value machine_limits_;
  std::string machine_text_;
  std::vector<LeftOut> left_out_;
};

}  // namespace

Result<BenchReport> bench(const std::string& folder, const BenchOptions& options) {
  return Bench(folder, options).run();
}

}  // namespace trine
