// Any bytes: encoding loses nothing, makes no control ids unasked, and decoding can be streamed.
#include "text/utf8.h"
#include "text_fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const trine::Tokenizer& tokenizer = trine::fuzz::small_tokenizer();
  const std::string input(reinterpret_cast<const char*>(data), size);
  const std::vector<int32_t> ids = tokenizer.encode(input);
  for (const int32_t id : ids) trine::fuzz::require(!tokenizer.is_control(id));
  trine::fuzz::require(*tokenizer.decode_bytes(ids) == input);
  trine::fuzz::require(*tokenizer.decode_bytes(tokenizer.encode(input, true)) == input);

  trine::Utf8Stream stream;
  std::string text;
  for (const int32_t id : ids) stream.push(tokenizer.token_bytes(id), &text);
  stream.finish(&text);
  trine::fuzz::require(text == *tokenizer.decode(ids));
  return 0;
}
