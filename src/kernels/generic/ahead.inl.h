// Fetches the next page while this one is computed with, for the namespace it is included in.

namespace {

/// A range of memory that is asked into the second cache level a few lines at a time, so that the
/// requests lie evenly in the work. Hardware fetches ahead too, but only within a 4 KB page.
struct Ahead {
  const uint8_t* at;
  const uint8_t* end;

  void fetch(int64_t bytes) {
    const uint8_t* stop = end - at > bytes ? at + bytes : end;
    for (; at < stop; at += 64) {
      __builtin_prefetch(at, 0, 2);
    }
  }
};

/// The bytes of the page after `page` of a call if any query sees it.
inline Ahead ahead_of(const MlaArgs& args, int64_t page) {
  const int64_t next = page + 1;
  bool seen = false;
  for (int64_t r = 0; r < args.m && !seen; ++r) {
    seen = args.visible[r] > next * kMlaPageRows;
  }
  if (next >= args.page_end || !seen) {
    return {nullptr, nullptr};
  }
  const uint8_t* begin = static_cast<const uint8_t*>(args.pages[next]);
  const int64_t value_bytes = args.type == LatentType::kF32 ? 4 : 2;
  return {begin, begin + kMlaPageRows * args.row_stride * value_bytes};
}

}  // namespace
