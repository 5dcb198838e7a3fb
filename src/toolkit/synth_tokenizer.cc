// Made-up merges and control tokens (spec section 9).
#include "toolkit/synth_tokenizer.h"

#include <array>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace trine {
namespace {

struct Control {
  int64_t offset;
  std::string_view content;
  bool special;
};

constexpr std::array<Control, 16> kK3Controls{{
    {0, "[BOS]", true},
    {1, "[EOS]", true},
    {2, "<|end_of_msg|>", true},
    {3, "<|open|>", false},
    {4, "<|close|>", false},
    {5, "<|sep|>", false},
    {6, "[start_header_id]", true},
    {7, "[end_header_id]", true},
    {9, "[EOT]", true},
    {18, "<|media_begin|>", true},
    {19, "<|media_content|>", true},
    {20, "<|media_end|>", true},
    {21, "<|media_pad|>", true},
    {65, "<osagent_mode>", true},
    {254, "[UNK]", true},
    {255, "[PAD]", true},
}};

constexpr std::array<Control, 21> kLinearControls{{
    {0, "[BOS]", true},
    {1, "[EOS]", true},
    {2, "<|im_end|>", true},
    {3, "<|im_user|>", true},
    {4, "<|im_assistant|>", true},
    {6, "<|start_header_id|>", true},
    {7, "<|end_header_id|>", true},
    {9, "[EOT]", true},
    {10, "<|im_system|>", true},
    {11, "<|tool_calls_section_begin|>", false},
    {12, "<|tool_calls_section_end|>", false},
    {13, "<|tool_call_begin|>", false},
    {14, "<|tool_call_argument_begin|>", false},
    {15, "<|tool_call_end|>", false},
    {17, "<|im_middle|>", true},
    {18, "<|media_begin|>", true},
    {19, "<|media_content|>", true},
    {20, "<|media_end|>", true},
    {21, "<|media_pad|>", true},
    {254, "[UNK]", true},
    {255, "[PAD]", true},
}};

void append_base64(std::string_view bytes, std::string* out) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t word = 0;
    for (size_t j = 0; j < 3; ++j)
      word = word << 8 | (i + j < bytes.size() ? static_cast<unsigned char>(bytes[i + j]) : 0u);
    for (size_t j = 0; j < 4; ++j)
      out->push_back(i + j <= bytes.size() ? kDigits[(word >> (18 - 6 * j)) & 63] : '=');
  }
}

bool printable(int byte) {
  return (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
}

template <size_t N>
json::Value added_tokens(const std::array<Control, N>& controls, int64_t base) {
  json::Value added = json::Value::object();
  for (const Control& control : controls) {
    json::Value token = json::Value::object();
    token.set("content", control.content);
    token.set("lstrip", false);
    token.set("normalized", false);
    token.set("rstrip", false);
    token.set("single_word", false);
    token.set("special", control.special);
    added.set(std::to_string(base + control.offset), std::move(token));
  }
  return added;
}

}  // namespace

std::string synth_tiktoken_model(int64_t vocab_size) {
  std::string text;
  int64_t rank = 0;
  const auto put = [&](std::string_view token) {
    append_base64(token, &text);
    text += ' ' + std::to_string(rank++) + '\n';
  };
  for (const bool pass : {true, false})
    for (int byte = 0; byte < 256; ++byte)
      if (printable(byte) == pass) put(std::string(1, static_cast<char>(byte)));
  // Words by length: each is a shorter one and a letter, with or without a leading blank.
  std::vector<std::string> words{" "};
  for (char c = 'a'; c <= 'z'; ++c) words.emplace_back(1, c);
  const auto wanted = static_cast<size_t>(vocab_size - 512);
  for (size_t made = 0; made < wanted; ++made) {
    words.push_back(words[made / 26] + static_cast<char>('a' + made % 26));
    put(words.back());
  }
  return text;
}

std::string synth_tokenizer_config(int64_t vocab_size, checkpoint::Layout layout) {
  const int64_t base = vocab_size - 256;
  json::Value config = json::Value::object();
  config.set("added_tokens_decoder", layout == checkpoint::Layout::kK3
                                         ? added_tokens(kK3Controls, base)
                                         : added_tokens(kLinearControls, base));
  config.set("bos_token", "[BOS]");
  config.set("clean_up_tokenization_spaces", false);
  config.set("eos_token", "[EOS]");
  config.set("pad_token", "[PAD]");
  config.set("tokenizer_class", "TikTokenTokenizer");
  config.set("unk_token", "[UNK]");
  return json::dump_pretty(config) + "\n";
}

}  // namespace trine
