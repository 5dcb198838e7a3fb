// Ctrl-C as a flag. A signal handler can only reach what is static.
#include "interrupt.h"

#include <unistd.h>

#include <csignal>

namespace trine::cli {
namespace {

volatile std::sig_atomic_t g_interrupted = 0;
struct sigaction g_previous;

extern "C" void on_interrupt(int /*signal*/) {
  if (g_interrupted != 0) ::_exit(130);
  g_interrupted = 1;
}

}  // namespace

InterruptGuard::InterruptGuard() {
  g_interrupted = 0;
  struct sigaction action = {};
  action.sa_handler = on_interrupt;
  // No SA_RESTART: a read that waits for the next line ends as well.
  ::sigaction(SIGINT, &action, &g_previous);
}

InterruptGuard::~InterruptGuard() { ::sigaction(SIGINT, &g_previous, nullptr); }

bool InterruptGuard::interrupted() { return g_interrupted != 0; }

void InterruptGuard::clear() { g_interrupted = 0; }

}  // namespace trine::cli
