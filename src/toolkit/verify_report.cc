// Comparison figures as JSON and text.
#include "toolkit/verify_report.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>

namespace trine::toolkit {
namespace {

std::string scientific(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.3g", value);
  return text.data();
}

// JSON has no infinity: null stands for "not finite".
json::Value number(double value) { return std::isfinite(value) ? json::Value(value) : nullptr; }

json::Value difference_json(const Difference& difference, double tolerance) {
  json::Value out = json::Value::object();
  out.set("max_abs", number(difference.max_abs));
  out.set("relative_norm", number(difference.relative_norm()));
  out.set("reference_max", number(difference.reference_max));
  out.set("where", difference.where);
  out.set("equal", difference.within(tolerance));
  return out;
}

std::string difference_text(const Difference& difference) {
  return scientific(difference.max_abs) + " (largest value " +
         scientific(difference.reference_max) + ")";
}

std::string layer_text(const LayerComparison& layer, double tolerance) {
  std::string text = layer.equal(tolerance) ? "  ok       " : "  DIFFERS  ";
  text += layer.name();
  if (layer.has_output) text += ": output " + difference_text(layer.output);
  if (layer.has_router) {
    text += ", experts differ for " + std::to_string(layer.router_differs) + " tokens";
    if (layer.router_first >= 0) text += " (first: " + std::to_string(layer.router_first) + ")";
  }
  if (layer.has_memory) {
    text +=
        std::string(layer.is_kda ? ", state " : ", latent rows ") + difference_text(layer.memory);
  }
  return text + "\n";
}

}  // namespace

void Difference::add(std::span<const float> found, std::span<const float> reference,
                     int64_t index) {
  for (size_t i = 0; i < reference.size(); ++i) {
    const auto expected = static_cast<double>(reference[i]);
    double difference = std::abs(static_cast<double>(found[i]) - expected);
    if (!std::isfinite(difference)) difference = std::numeric_limits<double>::infinity();
    if (difference > max_abs || where < 0) {
      max_abs = difference;
      where = index;
    }
    if (std::isfinite(expected)) reference_max = std::max(reference_max, std::abs(expected));
    difference_squares += difference * difference;
    reference_squares += expected * expected;
  }
}

double Difference::relative_norm() const {
  return difference_squares > 0 ? std::sqrt(difference_squares / reference_squares) : 0.0;
}

bool Difference::within(double tolerance) const {
  return max_abs <= tolerance * std::max(1.0, reference_max);
}

bool LayerComparison::equal(double tolerance) const {
  return output.within(tolerance) && memory.within(tolerance) && router_differs == 0;
}

std::string LayerComparison::name() const {
  const std::string number = std::to_string(layer);
  return "layer " + number + (is_kda ? " (KDA, layers." : " (MLA, layers.") + number + ")";
}

bool Comparison::equal() const { return logits.within(tolerance) && first_different() == nullptr; }

const LayerComparison* Comparison::first_different() const {
  for (const LayerComparison& layer : layers) {
    if (!layer.equal(tolerance)) return &layer;
  }
  return nullptr;
}

json::Value Comparison::to_json() const {
  json::Value logits_json = difference_json(logits, tolerance);
  const auto count = static_cast<double>(tokens);
  logits_json.set("top1_agreement", static_cast<double>(top1_equal) / count);
  logits_json.set("kl_mean", number(kl_sum / count));
  json::Value layers_json = json::Value::array();
  for (const LayerComparison& layer : layers) {
    json::Value entry = json::Value::object();
    entry.set("layer", layer.layer);
    entry.set("kind", layer.is_kda ? "kda" : "mla");
    entry.set("equal", layer.equal(tolerance));
    if (layer.has_output) entry.set("output", difference_json(layer.output, tolerance));
    if (layer.has_router) {
      entry.set("router_different_tokens", layer.router_differs);
      entry.set("router_first_token", layer.router_first);
    }
    if (layer.has_memory) {
      entry.set(layer.is_kda ? "kda_state" : "mla_rows", difference_json(layer.memory, tolerance));
    }
    layers_json.push(std::move(entry));
  }
  json::Value absent_json = json::Value::array();
  for (const std::string& name : absent) absent_json.push(name);
  json::Value root = json::Value::object();
  root.set("equal", equal());
  root.set("tolerance", tolerance);
  root.set("tokens", tokens);
  root.set("precision", precision);
  root.set("isa", isa);
  root.set("logits", std::move(logits_json));
  const LayerComparison* first = first_different();
  root.set("first_different_layer", first != nullptr ? json::Value(first->layer) : nullptr);
  root.set("layers", std::move(layers_json));
  root.set("not_in_file", std::move(absent_json));
  return root;
}

std::string Comparison::to_text() const {
  std::string text;
  for (const LayerComparison& layer : layers) text += layer_text(layer, tolerance);
  text += std::string(logits.within(tolerance) ? "  ok       " : "  DIFFERS  ") +
          "logits: " + difference_text(logits) + ", relative norm " +
          scientific(logits.relative_norm()) + ", largest at token " +
          std::to_string(logits.where) + ", same top token " + std::to_string(top1_equal) + " of " +
          std::to_string(tokens) + ", mean KL " + scientific(kl_sum / static_cast<double>(tokens)) +
          "\n";
  for (const std::string& name : absent) text += "  not in the file: " + name + "\n";
  text += std::string(equal() ? "equal" : "different") + " within " + scientific(tolerance) + ", " +
          std::to_string(tokens) + " tokens, " + precision + ", " + isa + "\n";
  if (const LayerComparison* first = first_different(); first != nullptr) {
    text += "the first layer that differs is " + first->name() + "\n";
  } else if (!equal()) {
    text += absent.empty() ? "all layers agree: look at the final norm and lm_head\n"
                           : "write the reference with its layers to learn where it begins\n";
  }
  return text;
}

}  // namespace trine::toolkit
