// Writes one safetensors shard of a synthetic checkpoint: header, then tensors, a few MB of memory.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "platform/thread_pool.h"
#include "toolkit/synth_fill.h"
#include "trine/status.h"

namespace trine {

struct ShardJob {
  std::string path;
  const std::vector<SynthTensor>* tensors = nullptr;
  bool sparse = false;  ///< header only; the data is a hole that reads as zeros
  std::function<void(int64_t bytes)> written;
};

Status write_shard(const ShardJob& job, SynthFiller* filler, ThreadPool* pool);

}  // namespace trine
