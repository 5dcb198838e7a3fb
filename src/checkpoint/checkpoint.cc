// Opening a folder: config, index, shard headers, audit, scan; then tensors by name.
#include "checkpoint/checkpoint.h"

#include <algorithm>
#include <cstring>

#include "base/try.h"
#include "checkpoint/audit.h"
#include "checkpoint/dequantise.h"
#include "checkpoint/expected.h"
#include "checkpoint/folder.h"
#include "checkpoint/hub_cache.h"
#include "checkpoint/linear_resolver.h"
#include "checkpoint/obstacle.h"
#include "checkpoint/quant_config.h"
#include "checkpoint/safetensors.h"
#include "checkpoint/scan.h"
#include "checkpoint/shard_index.h"
#include "checkpoint/tensor_table.h"
#include "platform/file.h"

namespace trine::checkpoint {
namespace {

const std::string kConfigName = "config.json";
const std::string kGenerationName = "generation_config.json";
const std::string kIndexName = "model.safetensors.index.json";
constexpr int64_t kConfigBytesMax = 8 << 20;
constexpr int64_t kIndexBytesMax = 256 << 20;  ///< K3's has 60 MB
constexpr int64_t kFindingsInMessage = 20;     ///< of one kind

Status no_config(const std::string& folder) {
  const std::string hint = hint_at_checkpoints(folder);
  return {Code::kNotFound,
          "no config.json; " + (hint.empty() ? "expected a checkpoint folder with config.json and "
                                               "*.safetensors; download it from the release"
                                             : hint)};
}

/// A word of a shell's command line.
std::string shell_word(const std::string& text) {
  constexpr std::string_view kPlain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./-+,:@%=";
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string::npos) return text;
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

/// The last line of a message that could not hold everything.
std::string pointer_to_inspect(const std::string& folder, const Findings& findings) {
  const int64_t left_out = left_out_of_summary(findings, Severity::kError, kFindingsInMessage);
  if (left_out == 0) return "";
  return std::to_string(left_out) + (left_out == 1 ? " more error is" : " more errors are") +
         " left out here: `trine inspect " + shell_word(folder) + "` lists them all\n";
}

}  // namespace

struct Checkpoint::Impl {
  std::string folder;
  ModelConfig config;
  QuantConfig quant;
  Findings findings;
  TensorTable table;
  ShardIndex index;
  std::vector<File> shards;
  std::vector<FileInfo> files;
  std::vector<std::string> names;  ///< of files
  KnownLosses losses;
  bool config_usable = false;
  bool has_weights = false;
  bool scanned = false;

  Status read(const TensorInfo& tensor, int64_t offset, void* out, int64_t bytes) const;
  ReadBytes reader() const {
    return [this](const TensorInfo& tensor, int64_t offset, void* out, int64_t bytes) {
      return read(tensor, offset, out, bytes);
    };
  }
  LinearResolver resolver() const {
    return {&quant, &names, [this](const TensorInfo& tensor, void* out, int64_t bytes) {
              return read(tensor, 0, out, bytes);
            }};
  }

  Status open_config(const Folder& listing);
  void open_generation(const Folder& listing, json::Value* generation);
  void open_index(const Folder& listing);
  void open_shards(const Folder& listing);
  void audit(const Folder& listing, const OpenOptions& options);
};

Status Checkpoint::Impl::read(const TensorInfo& tensor, int64_t offset, void* out,
                              int64_t bytes) const {
  if (offset < 0 || bytes < 0 || offset > tensor.bytes || bytes > tensor.bytes - offset)
    return {Code::kInvalidArgument, tensor.name + ": bytes " + std::to_string(offset) + " + " +
                                        std::to_string(bytes) + " of " +
                                        std::to_string(tensor.bytes)};
  if (bytes == 0) return {};
  return shards[static_cast<size_t>(tensor.file)]
      .read_at(tensor.offset + offset, out, bytes)
      .with_context(tensor.name);
}

Status Checkpoint::Impl::open_config(const Folder& listing) {
  if (!listing.has(kConfigName)) return no_config(listing.path);
  const Result<std::string> text = listing.read(kConfigName, kConfigBytesMax);
  if (const Status why = text.status(); !why.ok()) {
    const bool absent = why.code() == Code::kIo || why.code() == Code::kNotFound;
    return {absent ? why.code() : Code::kCorrupt, listing.obstacle(kConfigName, why).to_string()};
  }
  Result<json::Value> parsed_root = json::parse(*text, kConfigName);
  if (!parsed_root.ok()) return {Code::kCorrupt, parsed_root.status().message()};
  const json::Value& root = *parsed_root;
  json::Value generation;
  open_generation(listing, &generation);
  config = parse_config(root, &generation, kConfigName, &findings);
  const json::Value* inner = root.find("text_config");
  const json::Value* outer = root.find("quantization_config");
  const json::Value* nested = inner != nullptr ? inner->find("quantization_config") : nullptr;
  const auto given = [](const json::Value* v) { return v != nullptr && !v->is_null(); };
  if (given(nested) && given(outer) && json::dump(*nested) != json::dump(*outer))
    add_finding(&findings, {.kind = "config-contradiction",
                            .file = kConfigName,
                            .tensor = "quantization_config",
                            .found = "two that differ, in text_config and at the top level",
                            .expected = "one of them",
                            .action = "take config.json from the release of these weights"});
  quant = QuantConfig::parse(given(nested) ? nested : outer, kConfigName, &findings);
  // Contradictions inside the quantisation say nothing about the shapes.
  config_usable = std::none_of(findings.begin(), findings.end(), [](const Finding& f) {
    return f.severity == Severity::kError && f.file == kConfigName &&
           !(f.kind == "config-contradiction" && f.tensor.starts_with("quantization_config"));
  });
  return {};
}

void Checkpoint::Impl::open_generation(const Folder& listing, json::Value* generation) {
  if (!listing.has(kGenerationName)) return;
  const Result<std::string> text = listing.read(kGenerationName, kConfigBytesMax);
  if (!text.ok()) return add_finding(&findings, listing.obstacle(kGenerationName, text.status()));
  Result<json::Value> parsed = json::parse(*text, kGenerationName);
  if (parsed.ok())
    *generation = std::move(*parsed);
  else
    add_finding(&findings, {.kind = "side-file",
                            .file = kGenerationName,
                            .found = parsed.status().message(),
                            .expected = "a JSON object",
                            .action = "download this file again, or remove it"});
}

void Checkpoint::Impl::open_index(const Folder& listing) {
  if (!listing.has(kIndexName)) {
    if (listing.shards.size() > 1)
      add_finding(&findings,
                  {.severity = Severity::kNote,
                   .kind = "index-absent",
                   .file = kIndexName,
                   .found = "no such file",
                   .expected = "the index of " + std::to_string(listing.shards.size()) + " shards",
                   .action = "nothing to do: all shards of the folder are read"});
    return;
  }
  const Result<std::string> text = listing.read(kIndexName, kIndexBytesMax);
  if (text.ok())
    index = parse_index(*text, kIndexName, &findings);
  else
    add_finding(&findings, listing.obstacle(kIndexName, text.status()));
}

void Checkpoint::Impl::open_shards(const Folder& listing) {
  has_weights = !listing.shards.empty() || !listing.lost.empty();
  losses.unread.insert(listing.lost.begin(), listing.lost.end());
  std::vector<TensorInfo> tensors;
  for (const std::string& name : listing.shards) {
    Result<File> file = File::open(listing.file(name));
    if (!file.ok()) {
      add_finding(&findings, listing.obstacle(name, file.status()));
      losses.unread.insert(name);
      continue;
    }
    const auto number = static_cast<int32_t>(files.size());
    files.push_back({name, file->size()});
    names.push_back(name);
    HeaderLosses lost;
    read_shard_header(*file, name, number, &tensors, &findings, &lost);
    if (lost.unread) losses.unread.insert(name);
    for (std::string& tensor : lost.refused) losses.refused.insert(std::move(tensor));
    shards.push_back(std::move(*file));
  }
  table = TensorTable(std::move(tensors));
}

void Checkpoint::Impl::audit(const Folder& listing, const OpenOptions& options) {
  if (!has_weights) {
    if (index.usable && config_usable)
      audit_index_names(config, quant, index, kIndexName, &findings);
    explain_no_shards(listing, &findings);
    return;
  }
  check_side_files(listing, config_usable ? config.vocab_size : 0, &findings);
  if (index.usable)
    find_missing_files(listing, index, &findings);
  else
    find_missing_numbers(listing, &findings);
  const LinearResolver linear_resolver = resolver();
  std::vector<ShapeClaim> claims;
  if (config_usable)
    audit_tensors({config, table, linear_resolver, index, names, kIndexName, losses}, &claims,
                  &findings);
  if (!options.scan_scales) return;
  scan_values({table, linear_resolver, files, claims, reader()}, &findings);
  scanned = true;
}

Checkpoint::Checkpoint(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Checkpoint::~Checkpoint() = default;
Checkpoint::Checkpoint(Checkpoint&&) noexcept = default;
Checkpoint& Checkpoint::operator=(Checkpoint&&) noexcept = default;

Result<Checkpoint> Checkpoint::open(const std::string& folder, const OpenOptions& options) {
  auto impl = std::make_unique<Impl>();
  impl->folder = folder;
  TRINE_ASSIGN_OR_RETURN(const Folder listing, list_folder(folder, &impl->findings));
  TRINE_RETURN_IF_ERROR(impl->open_config(listing).with_context(folder));
  impl->open_index(listing);
  impl->open_shards(listing);
  impl->audit(listing, options);
  return Checkpoint(std::move(impl));
}

const std::string& Checkpoint::folder() const { return impl_->folder; }
const ModelConfig& Checkpoint::config() const { return impl_->config; }
const Findings& Checkpoint::findings() const { return impl_->findings; }
bool Checkpoint::config_usable() const { return impl_->config_usable; }
bool Checkpoint::has_weights() const { return impl_->has_weights; }
bool Checkpoint::scales_scanned() const { return impl_->scanned; }
const std::vector<Checkpoint::FileInfo>& Checkpoint::files() const { return impl_->files; }
const std::vector<TensorInfo>& Checkpoint::tensors() const { return impl_->table.all(); }
const TensorInfo* Checkpoint::find(std::string_view name) const { return impl_->table.find(name); }

Status Checkpoint::require_whole() const {
  if (has_errors(impl_->findings)) {
    const bool environment = only_environment(impl_->findings);
    return {environment ? Code::kIo : Code::kCorrupt,
            impl_->folder +
                (environment ? ": files cannot be read:\n" : ": the checkpoint is refused:\n") +
                summarise(impl_->findings, Severity::kError, kFindingsInMessage) +
                pointer_to_inspect(impl_->folder, impl_->findings)};
  }
  if (!has_weights())
    return {Code::kNotFound,
            impl_->folder + ": no *.safetensors: the weights are not downloaded yet"};
  return {};
}

Result<Linear> Checkpoint::linear(const std::string& name) const {
  LinearParts parts = find_linear_parts(impl_->table, name);
  const std::string prefix = impl_->config.tensor_prefix();
  if (parts.none() && impl_->config.tie_word_embeddings && name == prefix + "lm_head")
    parts = find_linear_parts(impl_->table, prefix + "model.embed_tokens");
  if (parts.none())
    return Status(Code::kNotFound, impl_->folder + ": no tensors of the module " + name);
  Linear linear;
  Findings findings;
  if (!impl_->resolver().resolve(name, parts, {}, &linear, &findings))
    return Status(Code::kCorrupt, impl_->folder + ": " + summarise(findings, Severity::kError, 1));
  return linear;
}

Status Checkpoint::read(const TensorInfo& tensor, int64_t byte_offset, void* out,
                        int64_t bytes) const {
  return impl_->read(tensor, byte_offset, out, bytes);
}

Status Checkpoint::read_floats(const std::string& name, float* out, int64_t count) const {
  const TensorInfo* tensor = find(name);
  if (tensor == nullptr) return {Code::kNotFound, impl_->folder + ": no tensor " + name};
  if (!is_plain_float(tensor->dtype))
    return {Code::kCorrupt,
            name + ": found " + dtype_name(tensor->dtype) + ", expected a float type"};
  if (tensor->elements() != count)
    return {Code::kCorrupt, name + ": found shape " + shape_text(tensor->shape) + ", expected " +
                                std::to_string(count) + " numbers"};
  return read_as_floats(*tensor, 0, count, impl_->reader(), out);
}

Status Checkpoint::dequantise_rows(const Linear& linear, int64_t row_begin, int64_t row_end,
                                   float* out) const {
  return dequantise(linear, row_begin, row_end, impl_->reader(), out);
}

int64_t TensorInfo::elements() const {
  int64_t count = 1;
  for (const int64_t dim : shape) count *= dim;
  return count;
}

}  // namespace trine::checkpoint
