// Row-wise kernels: norms, AttnRes, softmax, sums, bf16 (spec sections 2 and 4). Lane i of a row
// meets lane i of the next vector, then one fixed tree: the order of a sum depends on the row's
// length only. Sums of squares are held in double, so that no finite row overflows.

namespace {

inline double dot(const float* a, const float* b, int64_t n) {
  Wide even = wide_zero();
  Wide odd = wide_zero();
  int64_t i = 0;
  for (; i + 2 * kLanes <= n; i += 2 * kLanes) {
    even = wide_fma(load(a + i), load(b + i), even);
    odd = wide_fma(load(a + i + kLanes), load(b + i + kLanes), odd);
  }
  for (; i < n; i += kLanes) {
    even = wide_fma(load_first(a + i, n - i), load_first(b + i, n - i), even);
  }
  return wide_sum(even) + wide_sum(odd);
}

}  // namespace

void rms_norm(const RmsNormArgs& args) {
  const double mean = dot(args.x, args.x, args.n) / static_cast<double>(args.n);
  const Vec inverse = set(static_cast<float>(1.0 / sqrt(mean + static_cast<double>(args.eps))));
  for_each_vec(args.n, [&](auto at) {
    at.store_to(args.y, mul(mul(at.load_from(args.x), inverse), at.load_from(args.w)));
  });
}

void l2_norm(const L2NormArgs& args) {
  const double root = sqrt(dot(args.x, args.x, args.n) + static_cast<double>(args.eps));
  const Vec factor = set(static_cast<float>(static_cast<double>(args.scale) / root));
  for_each_vec(args.n, [&](auto at) { at.store_to(args.x, mul(at.load_from(args.x), factor)); });
}

void attn_res(const AttnResArgs& args) {
  float weights[kAttnResValuesMax];
  for (int64_t j = 0; j < args.count; ++j) {
    const float* v = args.values[j];
    const double mean = dot(v, v, args.n) / static_cast<double>(args.n);
    const double root = sqrt(mean + static_cast<double>(args.eps));
    weights[j] = static_cast<float>(dot(v, args.w, args.n) / root);
  }
  softmax({weights, args.count});
  weighted_sum({args.values, weights, args.count, args.n, args.y});
}

void softmax(const SoftmaxArgs& args) {
  Vec top = set(-INFINITY);
  for_each_vec(args.n, [&](auto at) {
    top = max(top, keep_first(at.load_from(args.x), args.n - at.i, set(-INFINITY)));
  });
  const Vec shift = set(max_of(top));
  Wide total = wide_zero();
  for_each_vec(args.n, [&](auto at) {
    const Vec e = exp(sub(at.load_from(args.x), shift));
    at.store_to(args.x, e);
    total = wide_fma(keep_first(e, args.n - at.i, zero()), set(1.0F), total);
  });
  const Vec inverse = set(static_cast<float>(1.0 / wide_sum(total)));
  for_each_vec(args.n, [&](auto at) { at.store_to(args.x, mul(at.load_from(args.x), inverse)); });
}

void add(const AddArgs& args) {
  for_each_vec(args.n, [&](auto at) {
    at.store_to(args.y, add(at.load_from(args.y), at.load_from(args.x)));
  });
}

void weighted_sum(const WeightedSumArgs& args) {
  for_each_vec(args.n, [&](auto at) {
    Vec sum = zero();
    for (int64_t j = 0; j < args.count; ++j) {
      sum = fma(set(args.weights[j]), at.load_from(args.rows[j]), sum);
    }
    at.store_to(args.y, sum);
  });
}

void to_bf16(const ToBf16Args& args) {
  int64_t i = 0;
  for (; i + kLanes <= args.n; i += kLanes) {
    store_bf16(args.y + i, load(args.x + i));
  }
  uint16_t last[kLanes] = {};
  store_bf16(last, load_first(args.x + i, args.n - i));
  for (int64_t lane = 0; i < args.n_padded; ++i, ++lane) {
    args.y[i] = lane < kLanes ? last[lane] : uint16_t{0};
  }
}

void from_bf16(const FromBf16Args& args) {
  int64_t i = 0;
  for (; i + kLanes <= args.n; i += kLanes) {
    store(args.y + i, load_bf16(args.x + i));
  }
  if (i < args.n) {
    uint16_t last[kLanes] = {};
    memcpy(last, args.x + i, static_cast<size_t>(args.n - i) * sizeof(uint16_t));
    store_first(args.y + i, load_bf16(last), args.n - i);
  }
}

bool all_finite(const AllFiniteArgs& args) {
  Vec nothing = zero();  // stays zero: 0 * x is NaN for an infinite x or a NaN
  for_each_vec(args.n, [&](auto at) { nothing = fma(at.load_from(args.x), zero(), nothing); });
  return sum(nothing) == 0.0F;
}
