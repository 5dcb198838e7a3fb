// An inspection for people: short lines, one thought each.
#include <algorithm>

#include "platform/memory.h"
#include "toolkit/inspect_report.h"
#include "toolkit/text_table.h"

namespace trine {
namespace {

using checkpoint::ModelConfig;

std::string grouped(int64_t value) {
  const std::string digits = std::to_string(value);
  std::string text;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

std::string plural(int64_t count, const std::string& noun) {
  return grouped(count) + " " + noun + (count == 1 ? "" : "s");
}

std::string two_decimals(int64_t hundredths) {
  const std::string rest = std::to_string(100 + hundredths % 100).substr(1);
  return std::to_string(hundredths / 100) + "." + rest;
}

/// 1.07 B, 512 M, 12,345.
std::string parameter_text(int64_t count) {
  if (count >= 1'000'000'000'000) return two_decimals(count / 10'000'000'000) + " T";
  if (count >= 1'000'000'000) return two_decimals(count / 10'000'000) + " B";
  if (count >= 1'000'000) return two_decimals(count / 10'000) + " M";
  return grouped(count);
}

std::string context_text(int64_t tokens) {
  return tokens >= (1 << 20) ? std::to_string(tokens >> 20) + "M"
                             : std::to_string(tokens >> 10) + "K";
}

std::string error_text(double error) {
  if (error <= 0) return "exact";
  int exponent = 0;
  while (error < 1 && exponent > -99) {
    error *= 10;
    --exponent;
  }
  return std::to_string(static_cast<int>(error)) + "e" + std::to_string(exponent);
}

std::string cell_text(const SupportCell& cell, bool with_error) {
  switch (cell.state) {
    case SupportCell::State::kNo: return "no";
    case SupportCell::State::kNotNeeded: return "-";
    case SupportCell::State::kFailed: return "FAILED " + cell.by;
    case SupportCell::State::kYes: break;
  }
  return with_error ? cell.by + " (" + error_text(cell.error) + ")" : cell.by;
}

std::string head_text(const Inspection& i) {
  const ModelConfig& c = i.config;
  std::string text = i.folder + "\n";
  if (!i.usable_config) return text + "  config.json cannot be used; nothing more can be said\n";
  text += std::string("  ") + (c.layout == checkpoint::Layout::kK3 ? "K3" : "Kimi-Linear") + ", " +
          plural(c.num_hidden_layers, "layer") + " of " + grouped(c.hidden_size) + ", vocabulary " +
          grouped(c.vocab_size);
  if (c.max_position_embeddings > 0)
    text += ", up to " + grouped(c.max_position_embeddings) + " tokens";
  text += "\n  ";
  if (!i.has_weights) return text + "weights not downloaded yet\n";
  text += checkpoint::has_errors(i.findings) ? "NOT WHOLE: " : "whole: ";
  text += plural(i.file_count, "shard") + ", " + plural(i.tensor_count, "tensor") + ", " +
          format_bytes(i.file_bytes);
  return text + (i.scales_scanned ? ", all scales scanned\n" : "\n");
}

/// Clauses of a description under each other.
std::string stacked(const std::string& description) {
  std::string text;
  for (size_t at = 0; at < description.size();) {
    const size_t end = std::min(description.find("; ", at), description.size());
    text += (at == 0 ? "" : "             ") + description.substr(at, end - at) + "\n";
    at = end + 2;
  }
  return text;
}

std::string model_text(const ModelConfig& c) {
  return "\nmodel\n  attention  " + stacked(describe_attention(c)) + "  residual   " +
         stacked(describe_residual(c)) + "  ffn        " + stacked(describe_ffn(c)) +
         (c.has_vision ? "  vision     tower declared; this version runs text only\n" : "");
}

std::string parameters_text(const ParameterCount& count) {
  TextTable table({"parameters", "format", "total", "per token", "bytes"});
  table.align_left(1);
  for (const ParameterGroup& group : count.groups)
    table.add({"  " + group.group, group.format, parameter_text(group.parameters),
               parameter_text(group.active), format_bytes(group.bytes)});
  table.add({"  all", "", parameter_text(count.parameters), parameter_text(count.active),
             format_bytes(count.bytes)});
  return "\n" + table.text();
}

std::string memory_text(const Inspection& i) {
  if (!i.memory)
    return i.memory_reason.empty() ? "" : "\nmemory\n  not planned: " + i.memory_reason + "\n";
  const MemoryReport& m = *i.memory;
  std::string text =
      std::string("\nmemory of one sequence") + (i.int8_inputs ? ", int8 inputs" : "") + "\n  " +
      grouped(m.latent_bytes_per_token) + " B per token (bf16 latents) and " +
      format_bytes(m.state_bytes_per_sequence) + " per sequence (fp32 states), packed weights " +
      format_bytes(m.weight_bytes) + "\n  activations " + format_bytes(m.activation.base_bytes) +
      " + " + grouped(m.activation.bytes_per_row) + " B x rows of a chunk (" +
      grouped(m.prefill_chunk) + " rows: " + format_bytes(m.activation.bytes(m.prefill_chunk)) +
      ")\n";
  TextTable table({"  tokens", "states", "latents", "in all", "fits"});
  for (const ContextMemory& c : m.contexts)
    table.add({"  " + context_text(c.tokens), format_bytes(c.plan.state_bytes),
               format_bytes(c.plan.latent_bytes), format_bytes(c.plan.total_bytes),
               c.plan.total_bytes <= c.plan.available_bytes ? "yes" : "no"});
  return text + table.text() +
         "  states here are what trine allocates: the open rows of a KDA chunk and padding "
         "included\n";
}

std::string support_text(const SupportTable& support, const std::string& isa) {
  TextTable table({"support at " + isa, "operators", "batches, pages", "quantised", "tuned"});
  for (size_t column = 1; column < 5; ++column) table.align_left(column);
  for (const SupportRow& row : support.rows)
    table.add({"  " + row.feature, cell_text(row.operators, true), cell_text(row.batching, false),
               cell_text(row.quantised, false), cell_text(row.tuned, false)});
  std::string text =
      "\n" + table.text() +
      "  each cell was checked just now; in brackets the error against double arithmetic\n";
  for (const std::string& note : support.notes) text += "  " + note + "\n";
  return text;
}

std::string findings_text(const Inspection& i) {
  std::string text = "\nfindings\n";
  if (i.findings.empty()) text += "  none\n";
  for (const checkpoint::Finding& finding : i.findings)
    text +=
        std::string(finding.severity == checkpoint::Severity::kError ? "  ERROR " : "  note  ") +
        finding.to_string() + "\n";
  for (const std::string& line : i.not_checked) text += "  not checked: " + line + "\n";
  return text;
}

std::string checksums_text(const std::vector<FileChecksum>& files) {
  std::string text = "\nsha256\n";
  for (const FileChecksum& file : files) {
    text += "  " + file.sha256 + "  " + checkpoint::printable(file.name);
    if (!file.expected.empty())
      text += file.matches() ? "  as the cache says" : "  DIFFERS from the cache";
    text += "\n";
  }
  return text;
}

std::string indented(const std::string& lines) {
  std::string text;
  for (size_t at = 0; at < lines.size();) {
    const size_t end = std::min(lines.find('\n', at), lines.size());
    text += "  " + lines.substr(at, end - at) + "\n";
    at = end + 1;
  }
  return text;
}

}  // namespace

std::string describe_attention(const ModelConfig& c) {
  std::string text;
  if (c.kda_layer_count() > 0) {
    text = plural(c.kda_layer_count(), "KDA layer") + ": " + plural(c.kda_num_heads, "head") +
           " of " + std::to_string(c.kda_head_dim) + ", convolution over " +
           std::to_string(c.short_conv_kernel_size) + ", " +
           (c.gate_lower_bound ? "bounded" : "softplus") + " decay gate, " +
           (c.use_full_rank_gate ? "full-rank" : "low-rank") + " output gate";
  }
  if (c.mla_layer_count() > 0) {
    text += (text.empty() ? "" : "; ") + plural(c.mla_layer_count(), "MLA layer") + ": " +
            plural(c.num_attention_heads, "head") + " over a latent of " +
            std::to_string(c.kv_lora_rank) + " + " + std::to_string(c.qk_rope_head_dim);
    if (c.q_lora_rank) text += ", q-LoRA " + std::to_string(*c.q_lora_rank);
    if (c.mla_use_output_gate) text += ", output gate";
  }
  return text;
}

std::string describe_residual(const ModelConfig& c) {
  if (!c.attn_res_block_size) return "plain residual stream";
  const int64_t block = *c.attn_res_block_size;
  const int64_t blocks = (c.num_hidden_layers + block - 1) / block;
  return "AttnRes: blocks of " + plural(block, "layer") + ", each token mixes up to " +
         plural(blocks, "block") + " and the running sum";
}

std::string describe_ffn(const ModelConfig& c) {
  const int64_t moe = c.moe_layer_count();
  const int64_t dense = c.num_hidden_layers - moe;
  const char* activation = c.hidden_act == checkpoint::Activation::kSitu ? "SiTU" : "SiLU";
  std::string text;
  if (moe > 0) {
    text = grouped(moe) + (c.routed_expert_hidden_size ? " LatentMoE" : " MoE") +
           (moe == 1 ? " layer: " : " layers: ") + grouped(c.num_experts_per_token) + " of " +
           plural(c.num_experts, "expert") + " of width " + grouped(c.moe_intermediate_size);
    if (c.routed_expert_hidden_size)
      text += " on a latent of " + grouped(*c.routed_expert_hidden_size);
    if (c.num_shared_experts > 0) text += ", " + grouped(c.num_shared_experts) + " shared";
    text += c.router_activation == checkpoint::RouterActivation::kSoftmax ? ", softmax router"
                                                                          : ", sigmoid router";
  }
  if (dense > 0)
    text += (text.empty() ? "" : "; ") + plural(dense, "dense layer") + " of width " +
            grouped(c.intermediate_size);
  return text + "; " + activation;
}

std::string inspection_text(const Inspection& i) {
  std::string text = head_text(i);
  if (i.usable_config) {
    text += model_text(i.config);
    text += parameters_text(i.parameters);
    text += memory_text(i);
    if (i.support)
      text += support_text(*i.support, i.machine.isa + (i.int8_inputs ? ", int8 inputs" : ""));
  }
  text += "\nmachine\n" + indented(to_text(i.machine));
  if (i.checksums) text += checksums_text(*i.checksums);
  return text + findings_text(i);
}

}  // namespace trine
