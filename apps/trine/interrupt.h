// Ctrl-C: the first one asks for a clean end, a second one ends the process.
#pragma once

namespace trine::cli {

/// While it lives, SIGINT sets a flag instead of ending the process.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;
  /// True once Ctrl-C was pressed.
  static bool interrupted();
  /// Forgets it, for the next answer of a conversation.
  static void clear();
};

}  // namespace trine::cli
