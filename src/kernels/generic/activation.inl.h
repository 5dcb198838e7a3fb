// Gates, activations and the short convolution (spec sections 2 and 5). No value meets another
// lane.

void short_conv_silu(const ShortConvArgs& args) {
  const int64_t before = args.taps - 1;
  for (int64_t t = 0; t < args.rows; ++t) {
    float* y = args.y + t * args.y_stride;
    for_each_vec(args.n, [&](auto at) {
      Vec sum = zero();
      for (int64_t j = 0; j < args.taps; ++j) {
        const int64_t row = t - before + j;
        const float* z = row >= 0 ? args.x + row * args.x_stride
                                  : args.history + (row + before) * args.history_stride;
        sum = fma(at.load_from(args.w + j * args.w_stride), at.load_from(z), sum);
      }
      at.store_to(y, mul(sum, sigmoid(sum)));
    });
  }
}

void kda_gate_bounded(const KdaGateArgs& args) {
  const Vec a = set(args.a);
  const Vec bound = set(args.lower_bound);
  for_each_vec(args.n, [&](auto at) {
    const Vec z = add(at.load_from(args.z), at.load_from(args.dt_bias));
    at.store_to(args.y, mul(bound, sigmoid(mul(a, z))));
  });
}

void kda_gate_softplus(const KdaGateArgs& args) {
  const Vec minus_a = set(-args.a);
  for_each_vec(args.n, [&](auto at) {
    const Vec z = add(at.load_from(args.z), at.load_from(args.dt_bias));
    at.store_to(args.y, mul(minus_a, softplus(z)));
  });
}

void situ(const SituArgs& args) {
  const Vec beta = set(args.beta);
  const Vec linear_beta = set(args.linear_beta);
  const bool bounded_up = args.linear_beta > 0.0F;
  for_each_vec(args.n, [&](auto at) {
    const Vec g = at.load_from(args.g);
    const Vec u = at.load_from(args.u);
    const Vec gate = mul(mul(beta, tanh(div(g, beta))), sigmoid(g));
    const Vec up = bounded_up ? mul(linear_beta, tanh(div(u, linear_beta))) : u;
    at.store_to(args.y, mul(gate, up));
  });
}

void silu_mul(const SiluArgs& args) {
  for_each_vec(args.n, [&](auto at) {
    const Vec g = at.load_from(args.g);
    at.store_to(args.y, mul(mul(g, sigmoid(g)), at.load_from(args.u)));
  });
}

void sigmoid_mul(const SigmoidMulArgs& args) {
  for_each_vec(args.n, [&](auto at) {
    at.store_to(args.y, mul(at.load_from(args.x), sigmoid(at.load_from(args.gate))));
  });
}

void sigmoid(const SigmoidArgs& args) {
  for_each_vec(args.n, [&](auto at) { at.store_to(args.x, sigmoid(at.load_from(args.x))); });
}
