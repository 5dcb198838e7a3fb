// The front ends' common door.
#include "grammar/grammar.h"

#include <utility>

#include "base/try.h"
#include "grammar/gbnf.h"
#include "grammar/json_text.h"
#include "grammar/program.h"
#include "grammar/regex.h"
#include "grammar/schema_rules.h"

namespace trine::grammar {

Result<std::shared_ptr<const Grammar>> Grammar::from_schema(const json::Value& schema,
                                                            const SchemaOptions& options) {
  TRINE_ASSIGN_OR_RETURN(Program program, SchemaRules(schema, options).compile());
  return std::make_shared<const Grammar>(std::move(program));
}

Result<std::shared_ptr<const Grammar>> Grammar::from_json_mode(const JsonOptions& options) {
  SchemaOptions any;
  static_cast<JsonOptions&>(any) = options;
  return from_schema(json::Value(true), any);
}

Result<std::shared_ptr<const Grammar>> Grammar::from_gbnf(std::string_view text) {
  TRINE_ASSIGN_OR_RETURN(Program program, compile_gbnf(text));
  return std::make_shared<const Grammar>(std::move(program));
}

Result<std::shared_ptr<const Grammar>> Grammar::from_regex(std::string_view pattern) {
  TRINE_ASSIGN_OR_RETURN(const CharDfa dfa, regex_dfa(pattern, Anchoring::kWhole));
  ProgramBuilder builder;
  JsonText text(&builder, JsonOptions());
  const int32_t rule = builder.add_rule("pattern");
  text.add_string(builder.start(rule), builder.final(rule), dfa, true);
  TRINE_ASSIGN_OR_RETURN(Program program, std::move(builder).finish(rule, kOtherDepthMax));
  return std::make_shared<const Grammar>(std::move(program));
}

}  // namespace trine::grammar
