// `trine synth`: a random checkpoint of any shape in the format of the releases.
//
// Written in an order that never leaves something that looks whole: shards first, then the index,
// config.json last.
#include <sys/statvfs.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <utility>

#include "base/json.h"
#include "base/try.h"
#include "checkpoint/checkpoint.h"
#include "platform/file.h"
#include "platform/memory.h"
#include "platform/thread_pool.h"
#include "platform/topology.h"
#include "toolkit/synth_formats.h"
#include "toolkit/synth_plan.h"
#include "toolkit/synth_shape.h"
#include "toolkit/synth_shard.h"
#include "toolkit/synth_tokenizer.h"
#include "trine/toolkit.h"

namespace trine {
namespace {

constexpr int64_t kSideFileBytesMax = int64_t{256} << 20;
constexpr int64_t kShardBytesMin = int64_t{128} << 10;
// A checkpoint of any size has about three shards at least, so that small ones exercise them too.
constexpr int64_t kShardsWanted = 3;

constexpr std::array<const char*, 8> kSideFiles{
    "generation_config.json", "tiktoken.model",          "tokenizer_config.json",
    "tokenizer.json",         "special_tokens_map.json", "preprocessor_config.json",
    "chat_template.jinja",    "chat_template.json"};

struct Plan {
  std::vector<SynthTensor> tensors;
  std::map<std::string, std::string> side_files;  ///< name to content, config.json apart
  std::string config_text;
  checkpoint::ModelConfig config;
};

void add_tokenizer(Plan* plan) {
  const int64_t vocab = plan->config.vocab_size;
  if (plan->side_files.contains("tiktoken.model") || vocab < 512) return;
  plan->side_files["tiktoken.model"] = synth_tiktoken_model(vocab);
  plan->side_files["tokenizer_config.json"] = synth_tokenizer_config(vocab, plan->config.layout);
}

FormatOf shape_formats(const SynthShape& shape) {
  return [experts = shape.experts](const checkpoint::ExpectedTensor& tensor) {
    return tensor.role == checkpoint::Role::kExpert ? experts : LinearFormat();
  };
}

Result<Plan> plan_shape(const SynthOptions& options) {
  TRINE_ASSIGN_OR_RETURN(auto shape, resolve_shape(options.shape_json));
  Plan plan;
  checkpoint::Findings findings;
  plan.config =
      checkpoint::parse_config(shape.config, &shape.generation_config, "shape", &findings);
  TRINE_RETURN_IF_ERROR(error_findings(findings));
  plan.config_text = json::dump_pretty(shape.config) + "\n";
  plan.side_files["generation_config.json"] = json::dump_pretty(shape.generation_config) + "\n";
  TRINE_ASSIGN_OR_RETURN(plan.tensors, plan_from_config(plan.config, shape_formats(shape)));
  return plan;
}

Result<Plan> plan_like(const SynthOptions& options) {
  checkpoint::OpenOptions open;
  open.scan_scales = false;
  TRINE_ASSIGN_OR_RETURN(auto source, checkpoint::Checkpoint::open(options.like, open));
  Plan plan;
  plan.config = source.config();
  const std::string config_path = options.like + "/config.json";
  TRINE_ASSIGN_OR_RETURN(plan.config_text, read_file(config_path, kSideFileBytesMax));
  for (const char* name : kSideFiles) {
    const std::string path = options.like + "/" + name;
    std::error_code ignored;
    if (!std::filesystem::exists(path, ignored)) continue;
    TRINE_ASSIGN_OR_RETURN(plan.side_files[name], read_file(path, kSideFileBytesMax));
  }
  if (source.has_weights()) {
    TRINE_RETURN_IF_ERROR(source.require_whole().with_context("--like needs a whole checkpoint"));
    TRINE_ASSIGN_OR_RETURN(plan.tensors, plan_from_checkpoint(source));
    return plan;
  }
  TRINE_RETURN_IF_ERROR(error_findings(source.findings()));
  TRINE_ASSIGN_OR_RETURN(const auto root, json::parse(plan.config_text, config_path));
  TRINE_ASSIGN_OR_RETURN(const auto formats, declared_formats(options.like, root));
  TRINE_ASSIGN_OR_RETURN(plan.tensors, plan_from_config(plan.config, formats));
  return plan;
}

Status make_folder(const std::string& folder, int64_t bytes) {
  if (folder.empty()) return Status(Code::kInvalidArgument, "synth: no folder to write to");
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return Status(Code::kIo, folder + ": cannot create: " + error.message());
  if (!std::filesystem::is_empty(folder, error) || error)
    return Status(Code::kInvalidArgument,
                  folder + ": exists and is not empty; name a new folder or remove this one");
  struct statvfs disk {};
  if (::statvfs(folder.c_str(), &disk) == 0) {
    const auto free_bytes =
        static_cast<int64_t>(disk.f_bavail) * static_cast<int64_t>(disk.f_frsize);
    if (bytes > free_bytes)
      return Status(Code::kIo, folder + ": needs " + format_bytes(bytes) + ", the disk has " +
                                   format_bytes(free_bytes) + " free");
  }
  return Status();
}

std::string zero_padded(size_t number, size_t digits) {
  std::string text = std::to_string(number);
  return text.size() < digits ? std::string(digits - text.size(), '0') + text : text;
}

std::string index_json(const std::vector<std::vector<SynthTensor>>& shards,
                       const std::vector<std::string>& names, int64_t total) {
  std::map<std::string_view, size_t> sorted;
  for (size_t s = 0; s < shards.size(); ++s)
    for (const SynthTensor& tensor : shards[s]) sorted.emplace(tensor.name, s);
  std::string text = "{\n \"metadata\": {\n  \"total_size\": " + std::to_string(total) +
                     "\n },\n \"weight_map\": {";
  const char* separator = "\n  ";
  for (const auto& [name, shard] : sorted) {
    text += separator + json::quote(name) + ": " + json::quote(names[shard]);
    separator = ",\n  ";
  }
  return text + "\n }\n}\n";
}

Status write_plan(Plan plan, const SynthOptions& options) {
  int64_t total = 0;
  for (const SynthTensor& tensor : plan.tensors) total += tensor.bytes();
  const bool full = options.content == SynthContent::kWeights;
  TRINE_RETURN_IF_ERROR(make_folder(options.out, full ? total + (int64_t{64} << 20) : 0));
  const int64_t share = std::max(kShardBytesMin, (total + kShardsWanted - 1) / kShardsWanted);
  const auto shards = pack_shards(std::move(plan.tensors), std::min(options.shard_bytes, share));
  std::vector<std::string> names;
  for (size_t i = 0; i < shards.size(); ++i)
    names.push_back("model-" + zero_padded(i + 1, 5) + "-of-" + zero_padded(shards.size(), 6) +
                    ".safetensors");
  if (options.content != SynthContent::kIndex) {
    SynthFiller filler(plan.config, options.seed);
    ThreadPool pool({.threads = discover_topology().default_threads(), .pin = false});
    int64_t done = 0;
    for (size_t i = 0; i < shards.size(); ++i) {
      ShardJob job;
      job.path = options.out + "/" + names[i];
      job.tensors = &shards[i];
      job.sparse = !full;
      job.written = [&](int64_t bytes) {
        done += bytes;
        if (options.progress) options.progress(done, total);
      };
      TRINE_RETURN_IF_ERROR(write_shard(job, &filler, &pool));
    }
  }
  for (const auto& [name, content] : plan.side_files)
    TRINE_RETURN_IF_ERROR(write_file(options.out + "/" + name, content));
  TRINE_RETURN_IF_ERROR(
      write_file(options.out + "/model.safetensors.index.json", index_json(shards, names, total)));
  return write_file(options.out + "/config.json", plan.config_text);
}

}  // namespace

Status synth(const SynthOptions& options) {
  if (options.like.empty() == options.shape_json.empty())
    return Status(Code::kInvalidArgument, "synth: give either --like MODEL or --shape FILE");
  if (options.shard_bytes < 1)
    return Status(Code::kInvalidArgument, "synth: shard_bytes must be positive");
  TRINE_ASSIGN_OR_RETURN(auto plan,
                         options.like.empty() ? plan_shape(options) : plan_like(options));
  add_tokenizer(&plan);
  return write_plan(std::move(plan), options);
}

}  // namespace trine
