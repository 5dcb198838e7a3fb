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
  bool has(const std::string& name) const;
  bool has_file(const std::string& name) const;  ///< a regular file or a link to one
  std::string file(const std::string& name) const { return path + "/" + name; }
};

/// kNotFound when there is no such folder. Broken links and things that are no files are findings.
Result<Folder> list_folder(const std::string& path, Findings* findings);

/// Shards named "...-00001-of-00003.safetensors" that are not there; only asked without an index.
void find_missing_numbers(const Folder& folder, Findings* findings);
/// Files the index names that are not there.
void find_missing_files(const Folder& folder, const ShardIndex& index, Findings* findings);
/// Notes for a folder without weights: pytorch files, GGUF, shards in a sub-folder.
void explain_no_shards(const Folder& folder, Findings* findings);
/// Tokenizer and generation files; the tokenizer must fit into vocab_size (0 = not known).
void check_side_files(const Folder& folder, int64_t vocab_size, Findings* findings);

}  // namespace trine::checkpoint
