// exp, tanh, sigmoid and softplus of a vector, for the namespace it is included in (needs its Vec).
// Errors are below 2.5 units in the last place (sigmoid and softplus 4); inputs may be anything:
// the functions saturate at their limits and hand a NaN on.

namespace {

/// exp(x) = 2^n exp(r), |r| <= ln(2)/2. Zero below -104, infinite above 88.73.
inline Vec exp(Vec x) {
  const Vec bounded = max(set(-104.0F), min(set(89.0F), x));  // this order keeps a NaN of x
  const Vec n = round(mul(bounded, set(1.44269504F)));
  // ln(2) in two parts: n * 0.693359375 is exact for |n| < 2^10.
  const Vec near = fma(n, set(-0.693359375F), bounded);
  const Vec r = fma(n, set(2.12194440e-4F), near);
  Vec p = set(1.9875691500e-4F);
  p = fma(p, r, set(1.3981999507e-3F));
  p = fma(p, r, set(8.3334519073e-3F));
  p = fma(p, r, set(4.1665795894e-2F));
  p = fma(p, r, set(1.6666665459e-1F));
  p = fma(p, r, set(5.0000001201e-1F));
  p = add(fma(mul(r, r), p, r), set(1.0F));
  return scale_by_pow2(p, n);
}

inline Vec sigmoid(Vec x) {
  const Vec one = set(1.0F);
  return div(one, add(one, exp(sub(zero(), x))));
}

/// An odd polynomial near zero, where 1 - exp would cancel; beyond, 1 - 2 / (exp(2|x|) + 1).
inline Vec tanh(Vec x) {
  const Vec square = mul(x, x);
  Vec p = set(-5.70498872745e-3F);
  p = fma(p, square, set(2.06390887954e-2F));
  p = fma(p, square, set(-5.37397155531e-2F));
  p = fma(p, square, set(1.33314422036e-1F));
  p = fma(p, square, set(-3.33332819422e-1F));
  const Vec near = fma(mul(p, square), x, x);
  const Vec size = abs(x);
  const Vec one = set(1.0F);
  const Vec far = sub(one, div(set(2.0F), add(exp(add(size, size)), one)));
  const Vec signed_far = where_less(x, zero(), sub(zero(), far), far);
  return where_less(size, set(0.625F), near, signed_far);
}

/// log(1 + exp(x)) = max(x, 0) + log1p(e), e = exp(-|x|); log1p(e) = 2 atanh(s), s = e / (2 + e).
inline Vec softplus(Vec x) {
  const Vec e = exp(sub(zero(), abs(x)));
  const Vec s = div(e, add(set(2.0F), e));
  const Vec square = mul(s, s);  // at most 1/9: eight terms of the series reach 2^-29
  Vec p = set(1.0F / 15.0F);
  p = fma(p, square, set(1.0F / 13.0F));
  p = fma(p, square, set(1.0F / 11.0F));
  p = fma(p, square, set(1.0F / 9.0F));
  p = fma(p, square, set(1.0F / 7.0F));
  p = fma(p, square, set(1.0F / 5.0F));
  p = fma(p, square, set(1.0F / 3.0F));
  const Vec twice = add(s, s);
  return add(max(zero(), x), fma(mul(p, square), twice, twice));  // this order keeps a NaN of x
}

/// exp of one number, by the same instructions as in a vector.
inline float exp_of(float x) {
  float lanes[kLanes];
  store(lanes, exp(set(x)));
  return lanes[0];
}

}  // namespace
