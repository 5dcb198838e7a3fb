// What lies in a checkpoint folder, before anything is opened.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "checkpoint/finding.h"
#include "checkpoint/shard_index.h"
#include "trine/status.h"

namespace trine::checkpoint {

struct Folder {
  std::string path;
  std::vector<std::string> names;   ///< of everything in it, sorted
  std::vector<std::string> shards;  ///< *.safetensors that are files (or links to files), sorted
  std::vector<std::string> lost;    ///< *.safetensors that cannot be opened: each has a finding
  bool has(const std::string& name) const;  ///< as anything: a folder or a link to nothing too
  /// The text of a side file that is there; what stands in the way is for obstacle() to explain.
  Result<std::string> read(const std::string& name, int64_t bytes_max) const;
  Finding obstacle(const std::string& name, const Status& why) const;
  std::string file(const std::string& name) const { return path + "/" + name; }
};

/// kNotFound when there is no such folder. Shards that cannot be opened are findings.
Result<Folder> list_folder(const std::string& path, Findings* findings);

/// Shards named "...-00001-of-00003.safetensors" that are not there; only asked without an index.
void find_missing_numbers(const Folder& folder, Findings* findings);
/// Files the index names that are not there.
void find_missing_files(const Folder& folder, const ShardIndex& index, Findings* findings);
/// Notes for a folder without weights: pytorch files, GGUF, shards in a sub-folder.
void explain_no_shards(const Folder& folder, Findings* findings);
/// Tokenizer files, and whether generation_config.json is there; the tokenizer must fit into
/// vocab_size (0 = not known).
void check_side_files(const Folder& folder, int64_t vocab_size, Findings* findings);

}  // namespace trine::checkpoint
