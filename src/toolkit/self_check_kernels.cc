// Operators against double arithmetic written from spec sections 2, 4, 5, 6 and 7.
#include <algorithm>
#include <cmath>
#include <functional>

#include "tensor/float_formats.h"
#include "toolkit/self_check.h"
#include "toolkit/self_check_data.h"

namespace trine {
namespace {

using checkpoint::ModelConfig;
using kernels::KernelTable;
using Floats = std::vector<float>;
using Doubles = std::vector<double>;

constexpr int64_t kTokens = 70;    // four full KDA chunks and an open one
constexpr int64_t kMlaRows = 150;  // three pages
constexpr double kFp32Tolerance = 2e-5;
// Levels with a 16-bit unit round queries and probabilities to bf16.
constexpr double kBf16Tolerance = 2e-2;

double d(float x) { return static_cast<double>(x); }
double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

/// One operator: how to run it, what it should give, and which table entries it uses.
struct Operator {
  std::function<Floats(const KernelTable&)> run;
  Doubles specification;
  double tolerance = kFp32Tolerance;
  std::function<bool(const KernelTable&, const KernelTable&)> same;
  std::string detail;
};

OperatorCheck check(const Operator& op, Isa isa) {
  const KernelTable& table = kernels::kernel_table(isa);
  const Floats out = op.run(table);
  const Floats scalar = op.run(kernels::kernel_table(Isa::kScalar));
  OperatorCheck result;
  result.specification = compare(out, op.specification, op.tolerance, op.detail);
  result.twin = compare(out, Doubles(scalar.begin(), scalar.end()), op.tolerance, op.detail);
  std::string level;
  for (const Isa lower : supported_isas())
    if (lower <= isa && op.same(kernels::kernel_table(lower), table)) {
      level = isa_name(lower);
      break;
    }
  result.specification.level = result.twin.level = level;
  return result;
}

struct KdaData {
  int64_t dim;
  Floats q, k, v, z, dt_bias, beta;
  float a = 1.5f;
  float lower_bound = -5;
};

KdaData kda_data(const ModelConfig& config) {
  KdaData data;
  data.dim = std::clamp<int64_t>(config.kda_head_dim, 1, 128);
  data.q = random_floats("kda q", kTokens * data.dim, 1);
  data.k = random_floats("kda k", kTokens * data.dim, 1);
  data.v = random_floats("kda v", kTokens * data.dim, 1);
  data.z = random_floats("kda z", kTokens * data.dim, 3);
  data.dt_bias = random_floats("kda dt", data.dim, 1);
  data.beta = random_floats("kda beta", kTokens, 0.5f);
  for (float& b : data.beta) b += 0.5f;
  data.lower_bound = config.gate_lower_bound.value_or(0);
  return data;
}

Floats run_kda(const KernelTable& table, const KdaData& data, bool bounded) {
  const int64_t dim = data.dim;
  const int64_t stride = (dim + 15) / 16 * 16;
  Floats q = data.q;
  Floats k = data.k;
  Floats g(data.z.size());
  for (int64_t t = 0; t < kTokens; ++t) {
    table.l2_norm({q.data() + t * dim, dim, 1e-6f, 1 / std::sqrt(static_cast<float>(dim))});
    table.l2_norm({k.data() + t * dim, dim, 1e-6f, 1});
    const kernels::KdaGateArgs gate{
        data.z.data() + t * dim, data.dt_bias.data(), data.a, data.lower_bound, dim,
        g.data() + t * dim};
    bounded ? table.kda_gate_bounded(gate) : table.kda_gate_softplus(gate);
  }
  Floats state(static_cast<size_t>(dim * stride), 0);
  Floats open_k(static_cast<size_t>(kernels::kKdaChunk * stride), 0);
  Floats open_u(open_k.size(), 0);
  Floats open_g(static_cast<size_t>(stride), 0);
  Floats out(data.q.size());
  // In pieces, as prefill and decode would call it.
  int64_t position = 0;
  for (const int64_t rows : {int64_t{37}, int64_t{1}, kTokens - 38}) {
    const int64_t at = position * dim;
    table.kda({dim, rows, position, q.data() + at, k.data() + at, data.v.data() + at, g.data() + at,
               dim, data.beta.data() + position, 1, state.data(), open_k.data(), open_u.data(),
               open_g.data(), out.data() + at, dim});
    position += rows;
  }
  return out;
}

// Spec section 5, token by token.
Doubles kda_specification(const KdaData& data, bool bounded) {
  const auto dim = static_cast<size_t>(data.dim);
  Doubles state(dim * dim, 0);
  Doubles out;
  for (size_t t = 0; t < static_cast<size_t>(kTokens); ++t) {
    const size_t at = t * dim;
    double q_norm = 1e-6;
    double k_norm = 1e-6;
    for (size_t i = 0; i < dim; ++i) {
      q_norm += d(data.q[at + i]) * d(data.q[at + i]);
      k_norm += d(data.k[at + i]) * d(data.k[at + i]);
    }
    Doubles r(dim);
    for (size_t j = 0; j < dim; ++j) r[j] = d(data.v[at + j]);
    for (size_t i = 0; i < dim; ++i) {
      const double z = d(data.z[at + i]) + d(data.dt_bias[i]);
      const double g = bounded ? d(data.lower_bound) * sigmoid(d(data.a) * z)
                               : -d(data.a) * std::log1p(std::exp(z));
      for (size_t j = 0; j < dim; ++j) {
        state[i * dim + j] *= std::exp(g);
        r[j] -= state[i * dim + j] * d(data.k[at + i]) / std::sqrt(k_norm);
      }
    }
    Doubles o(dim, 0);
    for (size_t i = 0; i < dim; ++i)
      for (size_t j = 0; j < dim; ++j) {
        state[i * dim + j] += d(data.beta[t]) * d(data.k[at + i]) / std::sqrt(k_norm) * r[j];
        o[j] +=
            state[i * dim + j] * d(data.q[at + i]) / std::sqrt(q_norm * static_cast<double>(dim));
      }
    out.insert(out.end(), o.begin(), o.end());
  }
  return out;
}

struct MlaData {
  int64_t value_dim, row_dim, stride;
  Floats q;
  Floats rows;                   ///< bf16 values
  std::vector<uint16_t> latent;  ///< the same as pages
  std::vector<int64_t> visible{1, kMlaRows / 2, kMlaRows};
};

MlaData mla_data(const ModelConfig& config) {
  MlaData data;
  data.value_dim = std::clamp<int64_t>(config.kv_lora_rank, 1, 512);
  data.row_dim = data.value_dim + std::clamp<int64_t>(config.qk_rope_head_dim, 0, 64);
  data.stride = (data.row_dim + 31) / 32 * 32;
  const int64_t pages = (kMlaRows + kernels::kMlaPageRows - 1) / kernels::kMlaPageRows;
  data.q = random_floats("mla q", 3 * data.stride, 0.7f);
  data.rows = random_floats("mla rows", kMlaRows * data.row_dim, 1);
  data.latent.assign(static_cast<size_t>(pages * kernels::kMlaPageRows * data.stride), 0);
  for (int64_t q = 0; q < 3; ++q)
    std::fill_n(data.q.begin() + q * data.stride + data.row_dim, data.stride - data.row_dim, 0.0f);
  for (float& value : data.q) value = bf16_to_float(float_to_bf16(value));
  for (int64_t r = 0; r < kMlaRows; ++r)
    for (int64_t i = 0; i < data.row_dim; ++i) {
      float& value = data.rows[static_cast<size_t>(r * data.row_dim + i)];
      const uint16_t bits = float_to_bf16(value);
      value = bf16_to_float(bits);
      data.latent[static_cast<size_t>(r * data.stride + i)] = bits;
    }
  return data;
}

Floats run_mla(const KernelTable& table, const MlaData& data, float scale) {
  const int64_t pages = (kMlaRows + kernels::kMlaPageRows - 1) / kernels::kMlaPageRows;
  std::vector<const void*> page_table;
  for (int64_t p = 0; p < pages; ++p)
    page_table.push_back(data.latent.data() + p * kernels::kMlaPageRows * data.stride);
  const int64_t acc_stride = (data.value_dim + 15) / 16 * 16;
  Floats max(3, -std::numeric_limits<float>::infinity());
  Floats sum(3, 0);
  Floats acc(static_cast<size_t>(3 * acc_stride), 0);
  table.mla({data.q.data(), data.stride, 3, data.visible.data(), scale, kernels::LatentType::kBf16,
             page_table.data(), data.stride, data.row_dim, data.value_dim, 0, pages, max.data(),
             sum.data(), acc.data(), acc_stride});
  Floats out(static_cast<size_t>(3 * data.value_dim));
  for (int64_t q = 0; q < 3; ++q)
    table.mla_finish({acc.data() + q * acc_stride, sum[static_cast<size_t>(q)], data.value_dim,
                      out.data() + q * data.value_dim});
  return out;
}

Doubles mla_specification(const MlaData& data, float scale) {
  Doubles out;
  for (size_t q = 0; q < 3; ++q) {
    Doubles scores;
    for (int64_t r = 0; r < data.visible[q]; ++r) {
      double score = 0;
      for (int64_t i = 0; i < data.row_dim; ++i)
        score += d(data.q[q * static_cast<size_t>(data.stride) + static_cast<size_t>(i)]) *
                 d(data.rows[static_cast<size_t>(r * data.row_dim + i)]);
      scores.push_back(score * d(scale));
    }
    const double top = *std::max_element(scores.begin(), scores.end());
    double sum = 0;
    for (double& s : scores) sum += s = std::exp(s - top);
    for (int64_t i = 0; i < data.value_dim; ++i) {
      double value = 0;
      for (size_t r = 0; r < scores.size(); ++r)
        value += scores[r] / sum *
                 d(data.rows[r * static_cast<size_t>(data.row_dim) + static_cast<size_t>(i)]);
      out.push_back(value);
    }
  }
  return out;
}

}  // namespace

OperatorCheck check_kda(const ModelConfig& config, Isa isa) {
  const KdaData data = kda_data(config);
  const bool bounded = config.gate_lower_bound.has_value();
  Operator op;
  op.run = [&](const KernelTable& table) { return run_kda(table, data, bounded); };
  op.specification = kda_specification(data, bounded);
  op.same = [](const KernelTable& a, const KernelTable& b) { return a.kda == b.kda; };
  op.detail = std::to_string(kTokens) + " tokens of head size " + std::to_string(data.dim) +
              " against the recurrence";
  return check(op, isa);
}

OperatorCheck check_mla(const ModelConfig& config, Isa isa) {
  const MlaData data = mla_data(config);
  const float scale = 1 / std::sqrt(static_cast<float>(data.row_dim));
  Operator op;
  op.run = [&](const KernelTable& table) { return run_mla(table, data, scale); };
  op.specification = mla_specification(data, scale);
  op.tolerance = isa >= Isa::kAvx512Bf16 ? kBf16Tolerance : kFp32Tolerance;
  op.same = [](const KernelTable& a, const KernelTable& b) { return a.mla == b.mla; };
  op.detail = std::to_string(kMlaRows) + " latent rows of " + std::to_string(data.row_dim) +
              " in 3 pages against causal softmax";
  return check(op, isa);
}

OperatorCheck check_attn_res(const ModelConfig& config, Isa isa) {
  const int64_t n = std::clamp<int64_t>(config.hidden_size, 1, 8192);
  constexpr int64_t kCount = 5;
  const Floats values = random_floats("attn res", kCount * n, 2);
  const Floats w = random_floats("attn res w", n, 0.05f);
  const float eps = config.rms_norm_eps;
  std::vector<const float*> rows;
  for (int64_t j = 0; j < kCount; ++j) rows.push_back(values.data() + j * n);
  Operator op;
  op.run = [&](const KernelTable& table) {
    Floats y(static_cast<size_t>(n));
    table.attn_res({rows.data(), kCount, w.data(), n, eps, y.data()});
    return y;
  };
  Doubles scores;
  for (const float* row : rows) {
    double squares = 0;
    double dot = 0;
    for (int64_t i = 0; i < n; ++i) {
      squares += d(row[i]) * d(row[i]);
      dot += d(row[i]) * d(w[static_cast<size_t>(i)]);
    }
    scores.push_back(dot / std::sqrt(squares / static_cast<double>(n) + d(eps)));
  }
  double sum = 0;
  for (double& s : scores) sum += s = std::exp(s);
  for (int64_t i = 0; i < n; ++i) {
    double value = 0;
    for (size_t j = 0; j < rows.size(); ++j) value += scores[j] / sum * d(rows[j][i]);
    op.specification.push_back(value);
  }
  op.same = [](const KernelTable& a, const KernelTable& b) { return a.attn_res == b.attn_res; };
  op.detail = "mix of " + std::to_string(kCount) + " residuals of " + std::to_string(n);
  return check(op, isa);
}

OperatorCheck check_router(const ModelConfig& config, Isa isa) {
  const int64_t n = std::clamp<int64_t>(config.num_experts, 1, 4096);
  const bool softmax = config.router_activation == checkpoint::RouterActivation::kSoftmax;
  const Floats logits = random_floats("router", n, 4);
  Operator op;
  op.run = [&](const KernelTable& table) {
    Floats y = logits;
    softmax ? table.softmax({y.data(), n}) : table.sigmoid({y.data(), n});
    return y;
  };
  double sum = 0;
  for (const float x : logits) sum += std::exp(d(x));
  for (const float x : logits)
    op.specification.push_back(softmax ? std::exp(d(x)) / sum : sigmoid(d(x)));
  op.same = [softmax](const KernelTable& a, const KernelTable& b) {
    return softmax ? a.softmax == b.softmax : a.sigmoid == b.sigmoid;
  };
  op.detail =
      std::string(softmax ? "softmax" : "sigmoid") + " of " + std::to_string(n) + " experts";
  return check(op, isa);
}

OperatorCheck check_activation(const ModelConfig& config, Isa isa) {
  constexpr int64_t kCount = 1000;
  const Floats g = random_floats("gate", kCount, 12);
  const Floats u = random_floats("up", kCount, 40);
  const bool situ = config.hidden_act == checkpoint::Activation::kSitu;
  const float beta = config.activation_situ_beta;
  const float linear_beta = config.activation_situ_linear_beta.value_or(0);
  Operator op;
  op.run = [&](const KernelTable& table) {
    Floats y(g.size());
    situ ? table.situ({g.data(), u.data(), beta, linear_beta, kCount, y.data()})
         : table.silu_mul({g.data(), u.data(), kCount, y.data()});
    return y;
  };
  for (size_t i = 0; i < g.size(); ++i) {
    const double up =
        situ && linear_beta > 0 ? d(linear_beta) * std::tanh(d(u[i]) / d(linear_beta)) : d(u[i]);
    const double gate = situ ? d(beta) * std::tanh(d(g[i]) / d(beta)) : d(g[i]);
    op.specification.push_back(gate * sigmoid(d(g[i])) * up);
  }
  op.same = [situ](const KernelTable& a, const KernelTable& b) {
    return situ ? a.situ == b.situ : a.silu_mul == b.silu_mul;
  };
  op.detail = std::to_string(kCount) + " values of gate and up";
  return check(op, isa);
}

}  // namespace trine
