// Usage: bench_grammar models/k3-nano/tiktoken.model
// What structured output costs: time to compile a schema, and to make the mask of each step of an
// answer, cold (the first request, after Grammar::prepare) and warm (another request with the same
// grammar). Vocabularies: the file's, and 163,840 tokens made of its pieces. Times are of this
// thread alone.
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "grammar/grammar.h"

namespace trine::bench {
namespace {

using grammar::Grammar;
using grammar::Matcher;
using grammar::TokenTable;
using TablePtr = std::shared_ptr<const TokenTable>;
using GrammarPtr = std::shared_ptr<const Grammar>;

double thread_ms() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_nsec) * 1e-6;
}

std::string from_base64(std::string_view text) {
  static constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    if (c == '=') break;
    bits = bits << 6 | static_cast<uint32_t>(kDigits.find(c));
    count += 6;
    if (count >= 8) out.push_back(static_cast<char>(bits >> (count -= 8) & 0xFF));
  }
  return out;
}

std::vector<std::string> read_tokens(const char* path) {
  std::ifstream file(path);
  std::vector<std::string> tokens;
  std::string base64;
  size_t rank = 0;
  while (file >> base64 >> rank) tokens.push_back(from_base64(base64));
  return tokens;
}

// Pieces joined at random, and long runs of blanks, to the size of K3's vocabulary.
std::vector<std::string> large(const std::vector<std::string>& pieces) {
  constexpr size_t kSize = 163'840;
  std::set<std::string> all(pieces.begin(), pieces.end());
  for (size_t n = 1; n <= 128; ++n)
    for (const char* ending : {"", "\n", "\"", "}"}) all.insert(std::string(n, ' ') + ending);
  std::mt19937 engine(1);
  while (all.size() < kSize) {
    std::string token;
    for (size_t n = 2 + engine() % 2; n > 0; --n) token += pieces[engine() % pieces.size()];
    all.insert(token);
  }
  return {all.begin(), all.end()};
}

TablePtr table_of(const std::vector<std::string>& tokens) {
  const std::vector<std::string_view> views(tokens.begin(), tokens.end());
  const double begin = thread_ms();
  TablePtr table = TokenTable::build(views, {});
  std::printf("%lld tokens: table in %.0f ms, %.1f MB\n", static_cast<long long>(table->size()),
              thread_ms() - begin, static_cast<double>(table->memory_bytes()) * 1e-6);
  return table;
}

// The longest token that begins the text: how a model would mostly write it.
int32_t longest_token(const TablePtr& table, const std::vector<uint64_t>& mask,
                      std::string_view text) {
  int32_t best = -1;
  for (int32_t id = 0; id < table->size(); ++id) {
    const std::string_view bytes = table->bytes(id);
    const bool is_allowed = (mask[static_cast<size_t>(id) / 64] >> (id % 64) & 1) != 0;
    if (is_allowed && text.starts_with(bytes) &&
        (best < 0 || bytes.size() > table->bytes(best).size()))
      best = id;
  }
  return best;
}

void report(const char* name, std::vector<double> ms) {
  std::sort(ms.begin(), ms.end());
  const auto at = [&](double q) {
    return ms[static_cast<size_t>(q * static_cast<double>(ms.size() - 1))];
  };
  std::printf("    %-5s median %7.3f  p90 %7.3f  worst %7.3f ms over %zu masks\n", name, at(0.5),
              at(0.9), ms.back(), ms.size());
}

std::vector<double> mask_times(const GrammarPtr& grammar, const TablePtr& table,
                               std::string_view text) {
  std::vector<double> ms;
  std::vector<uint64_t> mask(static_cast<size_t>(table->mask_words()));
  Matcher matcher(grammar, table);
  for (;;) {
    const double begin = thread_ms();
    if (!matcher.fill_mask(mask).ok()) break;
    ms.push_back(thread_ms() - begin);
    const int32_t id = text.empty() ? -1 : longest_token(table, mask, text);
    if (id < 0) break;
    if (!matcher.accept(id).ok()) break;
    text.remove_prefix(table->bytes(id).size());
  }
  if (!text.empty() || !matcher.can_end()) std::printf("    the text did not fit\n");
  return ms;
}

struct Case {
  const char* name;
  std::string schema;
  std::string text;
};

std::vector<Case> cases() {
  std::string wide = R"({"type":"object","additionalProperties":false,"properties":{)";
  std::string wide_text = "{";
  for (int i = 0; i < 200; ++i) {
    const std::string name = "\"property_" + std::to_string(i) + '"';
    wide += (i > 0 ? "," : "") + name + R"(:{"type":["string","null"],"maxLength":40})";
    if (i % 5 == 0) wide_text += (i > 0 ? ", " : "") + name + ": \"some value here\"";
  }
  std::string names = R"({"enum":[)";
  for (int i = 0; i < 100'000; ++i)
    names += (i > 0 ? ",\"item " : "\"item ") + std::to_string(i * 7919 % 100'000) + '"';
  return {{"weather tool",
           R"({"type":"object","properties":{"location":{"type":"string","description":"City"},
             "unit":{"type":"string","enum":["celsius","fahrenheit"]},"days":{"type":"integer",
             "minimum":1,"maximum":14},"notes":{"type":"array","items":{"type":"string"}}},
             "required":["location"],"additionalProperties":false})",
           R"({"location": "San Francisco, California", "unit": "celsius", "days": 7, )"
           R"("notes": ["bring an umbrella", "it may rain in the evening"]})"},
          {"formats and bounds",
           R"({"type":"object","properties":{"id":{"type":"string","format":"uuid"},
             "at":{"type":"string","format":"date-time"},"mail":{"type":"string","format":"email"},
             "title":{"type":"string","minLength":3,"maxLength":120},
             "code":{"type":"string","pattern":"^[A-Z]{2}-\\d{4}$"},
             "score":{"type":"number","minimum":0,"maximum":1}},
             "required":["id","at","mail","title","code","score"]})",
           R"({"id": "123e4567-e89b-12d3-a456-426614174000", "at": "2026-12-01T10:00:00Z", )"
           R"("mail": "someone@example.org", "title": "A title of some length, as titles are", )"
           R"("code": "AB-1234", "score": 0.75})"},
          {"JSON mode", "{}",
           R"({"users": [{"name": "Ada", "age": 36, "tags": ["math", "engines"]}, )"
           R"({"name": "Grace", "age": 45, "tags": []}], "total": 2, "next": null})"},
          {"200 properties", wide + "}}", wide_text + "}"},
          {"100,000 names", names + "]}", "\"item 99990\""}};
}

int run(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: bench_grammar TIKTOKEN_FILE\n");
    return 2;
  }
  const std::vector<std::string> pieces = read_tokens(argv[1]);
  if (pieces.empty()) {
    std::fprintf(stderr, "%s: no tokens\n", argv[1]);
    return 1;
  }
  for (const std::vector<std::string>& tokens : {pieces, large(pieces)}) {
    const TablePtr table = table_of(tokens);
    for (const Case& c : cases()) {
      const Result<json::Value> schema = json::parse(c.schema, c.name);
      if (!schema.ok()) return 1;
      const double begin = thread_ms();
      const Result<GrammarPtr> grammar = Grammar::from_schema(*schema);
      const double compile_ms = thread_ms() - begin;
      if (grammar.ok()) (*grammar)->prepare(table);
      const double prepare_ms = thread_ms() - begin - compile_ms;
      if (!grammar.ok()) {
        std::fprintf(stderr, "%s\n", grammar.status().message().c_str());
        return 1;
      }
      std::printf("  %-18s compile %7.2f ms, prepare %6.2f ms, %lld states\n", c.name, compile_ms,
                  prepare_ms, static_cast<long long>((*grammar)->state_count()));
      report("cold", mask_times(*grammar, table, c.text));
      report("warm", mask_times(*grammar, table, c.text));
    }
  }
  return 0;
}

}  // namespace
}  // namespace trine::bench

int main(int argc, char** argv) { return trine::bench::run(argc, argv); }
