// Walks a row in whole vectors and one part vector, for the namespace it is included in (needs
// Vec).

namespace {

/// A place in a row where all lanes are inside.
struct WholeVec {
  int64_t i;
  Vec load_from(const float* p) const { return load(p + i); }
  void store_to(float* p, Vec a) const { store(p + i, a); }
};

/// The end of a row: `count` lanes are inside, the others read as zero and are never written.
struct PartVec {
  int64_t i;
  int64_t count;
  Vec load_from(const float* p) const { return load_first(p + i, count); }
  void store_to(float* p, Vec a) const { store_first(p + i, a, count); }
};

/// Calls body(at) for the vectors of a row of n values, ascending.
template <typename Body>
inline void for_each_vec(int64_t n, const Body& body) {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    body(WholeVec{i});
  }
  if (i < n) {
    body(PartVec{i, n - i});
  }
}

}  // namespace
