// fp64 forward pass; section numbers are those of the specification.
#include "support/reference_model.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace trine::testing {

using checkpoint::ModelConfig;
using Row = std::vector<double>;
using Rows = std::vector<Row>;

namespace {

double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }
double silu(double x) { return x * sigmoid(x); }
double softplus(double x) { return x > 30 ? x : std::log1p(std::exp(x)); }

class Reference {
 public:
  Reference(const ModelConfig& config, const WeightLookup& weights)
      : c_(config), weights_(weights) {}

  ReferenceOutput run(const std::vector<int32_t>& ids) {
    const std::string prefix = c_.tensor_prefix();
    Rows p;
    const std::vector<float>& embedding = weights_(prefix + "model.embed_tokens");
    for (const int32_t id : ids) {
      const auto begin = embedding.begin() + static_cast<std::ptrdiff_t>(id * c_.hidden_size);
      p.emplace_back(begin, begin + static_cast<std::ptrdiff_t>(c_.hidden_size));
    }
    std::vector<Rows> blocks;
    for (int64_t l = 0; l < c_.num_hidden_layers; ++l) {
      layer(prefix + "model.layers." + std::to_string(l) + ".", l, &p, &blocks);
      for (const Row& row : p) out_.layers.insert(out_.layers.end(), row.begin(), row.end());
    }
    if (c_.attn_res_block_size) p = mix(prefix + "model.output_attn_res", blocks, p);
    for (const Row& row :
         linear(prefix + "lm_head", norm(prefix + "model.norm.weight", p, c_.rms_norm_eps))) {
      out_.logits.insert(out_.logits.end(), row.begin(), row.end());
    }
    return out_;
  }

 private:
  Rows linear(const std::string& name, const Rows& x) const {
    const std::vector<float>& w = weights_(name);
    Rows y;
    for (const Row& row : x) {
      const size_t in = row.size();
      Row out(w.size() / in);
      for (size_t o = 0; o < out.size(); ++o) {
        for (size_t i = 0; i < in; ++i) out[o] += static_cast<double>(w[o * in + i]) * row[i];
      }
      y.push_back(std::move(out));
    }
    return y;
  }

  Row norm_row(const std::vector<float>& w, Row x, double eps) const {
    double squares = 0;
    for (const double v : x) squares += v * v;
    const double scale = 1.0 / std::sqrt(squares / static_cast<double>(x.size()) + eps);
    for (size_t i = 0; i < x.size(); ++i) x[i] *= scale * static_cast<double>(w[i]);
    return x;
  }

  Rows norm(const std::string& name, const Rows& x, float eps) const {
    Rows y;
    for (const Row& row : x) y.push_back(norm_row(weights_(name), row, static_cast<double>(eps)));
    return y;
  }

  static Rows sum(Rows a, const Rows& b) {
    for (size_t t = 0; t < a.size(); ++t) {
      for (size_t i = 0; i < a[t].size(); ++i) a[t][i] += b[t][i];
    }
    return a;
  }

  // Section 4.
  Rows mix(const std::string& name, const std::vector<Rows>& blocks, const Rows& p) const {
    const std::vector<float>& wn = weights_(name + "_norm.weight");
    const std::vector<float>& wp = weights_(name + "_proj.weight");
    Rows result;
    for (size_t t = 0; t < p.size(); ++t) {
      std::vector<const Row*> values;
      for (const Rows& block : blocks) values.push_back(&block[t]);
      values.push_back(&p[t]);
      Row scores;
      for (const Row* v : values) {
        const Row key = norm_row(wn, *v, static_cast<double>(c_.rms_norm_eps));
        double score = 0;
        for (size_t i = 0; i < key.size(); ++i) score += key[i] * static_cast<double>(wp[i]);
        scores.push_back(score);
      }
      const Row weight = softmax(scores);
      Row row(p[t].size());
      for (size_t j = 0; j < values.size(); ++j) {
        for (size_t i = 0; i < row.size(); ++i) row[i] += weight[j] * (*values[j])[i];
      }
      result.push_back(std::move(row));
    }
    return result;
  }

  static Row softmax(Row x) {
    double best = -std::numeric_limits<double>::infinity();
    for (const double v : x) best = std::max(best, v);
    double total = 0;
    for (double& v : x) total += v = std::exp(v - best);
    for (double& v : x) v /= total;
    return x;
  }

  void layer(const std::string& name, int64_t l, Rows* p, std::vector<Rows>* blocks) {
    const bool residual_blocks = c_.attn_res_block_size.has_value();
    Rows x =
        residual_blocks && !blocks->empty() ? mix(name + "self_attention_res", *blocks, *p) : *p;
    const bool start = residual_blocks && l % *c_.attn_res_block_size == 0;
    if (start) blocks->push_back(*p);
    x = norm(name + "input_layernorm.weight", x, c_.rms_norm_eps);
    const bool is_kda = c_.is_kda[static_cast<size_t>(l)];
    const Rows a = is_kda ? kda(name + "self_attn.", x) : mla(name + "self_attn.", x);
    *p = start ? a : sum(*p, a);
    Rows y = residual_blocks ? mix(name + "mlp_res", *blocks, *p) : *p;
    y = norm(name + "post_attention_layernorm.weight", y, c_.rms_norm_eps);
    *p = sum(*p, c_.is_moe(l) ? moe(name + "block_sparse_moe.", y) : mlp(name + "mlp.", y));
  }

  // Section 2.
  Row activate(const Row& g, const Row& u) const {
    Row h(g.size());
    for (size_t i = 0; i < h.size(); ++i) {
      if (c_.hidden_act == checkpoint::Activation::kSilu) {
        h[i] = silu(g[i]) * u[i];
        continue;
      }
      const auto b = static_cast<double>(c_.activation_situ_beta);
      double up = u[i];
      if (c_.activation_situ_linear_beta) {
        const auto lb = static_cast<double>(*c_.activation_situ_linear_beta);
        up = lb * std::tanh(up / lb);
      }
      h[i] = b * std::tanh(g[i] / b) * sigmoid(g[i]) * up;
    }
    return h;
  }

  Rows gated(const std::string& gate, const std::string& up, const std::string& down,
             const Rows& x) const {
    const Rows g = linear(gate, x);
    const Rows u = linear(up, x);
    Rows h;
    for (size_t t = 0; t < x.size(); ++t) h.push_back(activate(g[t], u[t]));
    return linear(down, h);
  }

  Rows mlp(const std::string& name, const Rows& x) const {
    return gated(name + "gate_proj", name + "up_proj", name + "down_proj", x);
  }

  // Section 5.
  Rows conv(const std::string& name, const Rows& z) const {
    const std::vector<float>& w = weights_(name);
    const int64_t taps = c_.short_conv_kernel_size;
    Rows y(z.size(), Row(z.front().size()));
    for (size_t t = 0; t < z.size(); ++t) {
      for (size_t ch = 0; ch < y[t].size(); ++ch) {
        double total = 0;
        for (int64_t j = 0; j < taps; ++j) {
          const int64_t row = static_cast<int64_t>(t) - (taps - 1) + j;
          if (row < 0) continue;
          total += static_cast<double>(w[ch * static_cast<size_t>(taps) + static_cast<size_t>(j)]) *
                   z[static_cast<size_t>(row)][ch];
        }
        y[t][ch] = silu(total);
      }
    }
    return y;
  }

  Rows kda(const std::string& name, const Rows& x) {
    const auto heads = static_cast<size_t>(c_.kda_num_heads);
    const auto dim = static_cast<size_t>(c_.kda_head_dim);
    const Rows q = conv(name + "q_conv1d.weight", linear(name + "q_proj", x));
    const Rows k = conv(name + "k_conv1d.weight", linear(name + "k_proj", x));
    const Rows v = conv(name + "v_conv1d.weight", linear(name + "v_proj", x));
    const Rows z = linear(name + "f_b_proj", linear(name + "f_a_proj", x));
    const Rows b = linear(name + "b_proj", x);
    const Rows gate = c_.use_full_rank_gate
                          ? linear(name + "g_proj", x)
                          : linear(name + "g_b_proj", linear(name + "g_a_proj", x));
    Rows o(x.size(), Row(heads * dim));
    for (size_t h = 0; h < heads; ++h) kda_head(name, h, q, k, v, z, b, gate, &o);
    return linear(name + "o_proj", o);
  }

  static Row unit(const Row& row, size_t begin, size_t n, double scale) {
    Row x(row.begin() + static_cast<std::ptrdiff_t>(begin),
          row.begin() + static_cast<std::ptrdiff_t>(begin + n));
    double squares = 0;
    for (const double value : x) squares += value * value;
    for (double& value : x) value *= scale / std::sqrt(squares + 1e-6);
    return x;
  }

  void kda_head(const std::string& name, size_t h, const Rows& q_rows, const Rows& k_rows,
                const Rows& v, const Rows& z, const Rows& b, const Rows& gate, Rows* out) {
    const auto dim = static_cast<size_t>(c_.kda_head_dim);
    const double a = std::exp(static_cast<double>(weights_(name + "A_log")[h]));
    const std::vector<float>& dt_bias = weights_(name + "dt_bias");
    const size_t at = h * dim;
    Rows s(dim, Row(dim));  // [key][value]
    for (size_t t = 0; t < v.size(); ++t) {
      const Row q = unit(q_rows[t], at, dim, 1.0 / std::sqrt(static_cast<double>(dim)));
      const Row k = unit(k_rows[t], at, dim, 1.0);
      const double beta = sigmoid(b[t][h]);
      for (size_t i = 0; i < dim; ++i) {
        const double zi = z[t][at + i] + static_cast<double>(dt_bias[at + i]);
        const double g = c_.gate_lower_bound
                             ? static_cast<double>(*c_.gate_lower_bound) * sigmoid(a * zi)
                             : -a * softplus(zi);
        for (double& value : s[i]) value *= std::exp(g);
      }
      Row o(dim);
      for (size_t j = 0; j < dim; ++j) {
        double r = v[t][at + j];
        for (size_t i = 0; i < dim; ++i) r -= s[i][j] * k[i];
        for (size_t i = 0; i < dim; ++i) s[i][j] += beta * k[i] * r;
        for (size_t i = 0; i < dim; ++i) o[j] += s[i][j] * q[i];
      }
      o = norm_row(weights_(name + "o_norm.weight"), o, static_cast<double>(c_.rms_norm_eps));
      for (size_t j = 0; j < dim; ++j) (*out)[t][at + j] = o[j] * sigmoid(gate[t][at + j]);
    }
    for (const Row& row : s) out_.kda_state.insert(out_.kda_state.end(), row.begin(), row.end());
  }

  // Section 6.
  Rows mla(const std::string& name, const Rows& x) {
    const auto heads = static_cast<size_t>(c_.num_attention_heads);
    const auto nope = static_cast<size_t>(c_.qk_nope_head_dim);
    const auto rope = static_cast<size_t>(c_.qk_rope_head_dim);
    const auto value = static_cast<size_t>(c_.v_head_dim);
    const auto rank = static_cast<size_t>(c_.kv_lora_rank);
    const Rows q = c_.q_lora_rank
                       ? linear(name + "q_b_proj", norm(name + "q_a_layernorm.weight",
                                                        linear(name + "q_a_proj", x), 1e-6f))
                       : linear(name + "q_proj", x);
    Rows latent;
    Rows rope_keys;
    for (const Row& row : linear(name + "kv_a_proj_with_mqa", x)) {
      const auto middle = row.begin() + static_cast<std::ptrdiff_t>(rank);
      latent.push_back(norm_row(weights_(name + "kv_a_layernorm.weight"), Row(row.begin(), middle),
                                static_cast<double>(1e-6f)));
      rope_keys.emplace_back(middle, row.end());
      out_.mla_rows.insert(out_.mla_rows.end(), latent.back().begin(), latent.back().end());
      out_.mla_rows.insert(out_.mla_rows.end(), rope_keys.back().begin(), rope_keys.back().end());
    }
    const Rows kv = linear(name + "kv_b_proj", latent);
    const Rows gate = c_.mla_use_output_gate ? linear(name + "g_proj", x) : Rows();
    Rows out(x.size(), Row(heads * value));
    const double scale = 1.0 / std::sqrt(static_cast<double>(nope + rope));
    for (size_t h = 0; h < heads; ++h) {
      const size_t kv_at = h * (nope + value);
      for (size_t t = 0; t < x.size(); ++t) {
        const double* query = q[t].data() + h * (nope + rope);
        Row scores(t + 1);
        for (size_t s = 0; s <= t; ++s) {
          for (size_t i = 0; i < nope; ++i) scores[s] += query[i] * kv[s][kv_at + i] * scale;
          for (size_t i = 0; i < rope; ++i) scores[s] += query[nope + i] * rope_keys[s][i] * scale;
        }
        const Row weight = softmax(scores);
        for (size_t i = 0; i < value; ++i) {
          double o = 0;
          for (size_t s = 0; s <= t; ++s) o += weight[s] * kv[s][kv_at + nope + i];
          if (c_.mla_use_output_gate) o *= sigmoid(gate[t][h * value + i]);
          out[t][h * value + i] = o;
        }
      }
    }
    return linear(name + "o_proj", out);
  }

  // Section 7.
  Rows moe(const std::string& name, const Rows& x) {
    const bool latent = c_.routed_expert_hidden_size.has_value();
    const Rows z = latent ? linear(name + "routed_expert_down_proj", x) : x;
    const size_t gate_inputs = weights_(name + "gate").size() / static_cast<size_t>(c_.num_experts);
    const Rows logits = linear(name + "gate", gate_inputs == x.front().size() ? x : z);
    Rows y;
    for (size_t t = 0; t < x.size(); ++t) {
      Row total(z[t].size());
      for (const auto& [e, weight] : pick(name, logits[t])) {
        const std::string expert = name + "experts." + std::to_string(e) + ".";
        const Row result = gated(expert + "w1", expert + "w3", expert + "w2", {z[t]}).front();
        for (size_t i = 0; i < total.size(); ++i) total[i] += weight * result[i];
      }
      if (latent && c_.latent_moe_use_norm) {
        total = norm_row(weights_(name + "routed_expert_norm.weight"), total,
                         static_cast<double>(c_.rms_norm_eps));
      }
      y.push_back(std::move(total));
    }
    if (latent) y = linear(name + "routed_expert_up_proj", y);
    return c_.num_shared_experts > 0 ? sum(y, mlp(name + "shared_experts.", x)) : y;
  }

  std::vector<std::pair<int64_t, double>> pick(const std::string& name, const Row& logits) {
    const std::vector<float>& bias = weights_(name + "gate.e_score_correction_bias");
    Row s = logits;
    if (c_.router_activation == checkpoint::RouterActivation::kSigmoid) {
      for (double& value : s) value = sigmoid(value);
    } else {
      s = softmax(s);
    }
    Row choice = s;
    for (size_t e = 0; e < choice.size(); ++e) choice[e] += static_cast<double>(bias[e]);
    drop_groups(&choice);
    std::vector<int64_t> order(choice.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
      return choice[static_cast<size_t>(a)] > choice[static_cast<size_t>(b)];
    });
    const auto k = static_cast<size_t>(c_.num_experts_per_token);
    if (k < order.size()) {
      const double gap =
          choice[static_cast<size_t>(order[k - 1])] - choice[static_cast<size_t>(order[k])];
      if (!std::isnan(gap)) out_.router_margin = std::min(out_.router_margin, gap);
    }
    order.resize(k);
    std::sort(order.begin(), order.end());
    double total = 0;
    for (const int64_t e : order) total += s[static_cast<size_t>(e)];
    std::vector<std::pair<int64_t, double>> picked;
    for (const int64_t e : order) {
      double w = s[static_cast<size_t>(e)];
      if (c_.moe_renormalize && k > 1) w /= total + 1e-20;
      picked.emplace_back(e, w * static_cast<double>(c_.routed_scaling_factor));
      out_.router_ids.push_back(static_cast<int32_t>(e));
    }
    return picked;
  }

  void drop_groups(Row* choice) {
    const auto groups = static_cast<size_t>(c_.num_expert_group);
    const auto keep = static_cast<size_t>(c_.topk_group);
    if (groups <= 1 || groups <= keep) return;
    const size_t size = choice->size() / groups;
    Row score(groups);
    for (size_t g = 0; g < groups; ++g) {
      Row members(choice->begin() + static_cast<std::ptrdiff_t>(g * size),
                  choice->begin() + static_cast<std::ptrdiff_t>((g + 1) * size));
      std::sort(members.rbegin(), members.rend());
      score[g] = members[0] + (size > 1 ? members[1] : 0.0);
    }
    std::vector<size_t> order(groups);
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return score[a] > score[b]; });
    out_.router_margin = std::min(out_.router_margin, score[order[keep - 1]] - score[order[keep]]);
    for (size_t i = keep; i < groups; ++i) {
      std::fill_n(choice->begin() + static_cast<std::ptrdiff_t>(order[i] * size), size,
                  -std::numeric_limits<double>::infinity());
    }
  }

  const ModelConfig& c_;
  const WeightLookup& weights_;
  ReferenceOutput out_;
};

}  // namespace

ReferenceOutput reference_forward(const ModelConfig& config, const WeightLookup& weights,
                                  const std::vector<int32_t>& ids) {
  return Reference(config, weights).run(ids);
}

}  // namespace trine::testing
