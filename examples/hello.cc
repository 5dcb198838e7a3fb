// Answers one question, with the public headers alone.
#include <iostream>

#include "trine/chat.h"
#include "trine/generate.h"

int main(int argc, char** argv) {
  const std::string folder = argc > 1 ? argv[1] : "models/k3-nano";
  const auto tokenizer = trine::Tokenizer::load(folder);
  const auto model = trine::Model::load(folder, {});
  if (!tokenizer.ok() || !model.ok()) return std::cerr << "cannot load " << folder << "\n", 1;
  const auto prompt = trine::render_chat(*tokenizer, R"({"options": {"thinking": false},
      "messages": [{"role": "user", "content": "Capital of Vietnam?"}]})");
  trine::GenerateOptions options;
  options.stop_ids = {tokenizer->control_id("<|end_of_msg|>")};
  auto sequence = model->new_sequence();
  trine::Sampler sampler({});  // greedy
  const auto answer = trine::generate(*model, &*sequence, &sampler, prompt->ids, options);
  std::cout << trine::parse_chat(*tokenizer, answer->ids, /*thinking=*/false).content << "\n";
}
