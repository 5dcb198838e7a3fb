// tiktoken.model and tokenizer_config.json of any content: refused or usable, never a crash.
#include "text/bpe.h"
#include "text/control_tokens.h"
#include "text_fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string input(reinterpret_cast<const char*>(data), size);
  (void)trine::ControlTokens::parse(input, 256, "tokenizer_config.json");
  // As it is, and behind the single bytes, without which no file is accepted.
  for (const std::string& file : {input, trine::fuzz::single_bytes() + input}) {
    const trine::Result<trine::Vocabulary> vocabulary =
        trine::Vocabulary::parse(file, "tiktoken.model");
    if (!vocabulary.ok()) {
      trine::fuzz::require(vocabulary.status().code() == trine::Code::kCorrupt);
      continue;
    }
    for (int32_t rank = 0; rank < vocabulary->size(); ++rank)
      trine::fuzz::require(vocabulary->find(vocabulary->bytes(rank)) == rank);
    std::vector<int32_t> ids;
    trine::BpeMerger(*vocabulary).append_ids(input, &ids);
    std::string bytes;
    for (const int32_t id : ids) bytes += vocabulary->bytes(id);
    trine::fuzz::require(bytes == input);
  }
  return 0;
}
