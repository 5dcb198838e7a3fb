// Child processes for tests.
#include "support/process.h"

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>

namespace trine::testing {
namespace {

using Variables = std::vector<std::pair<std::string, std::string>>;

[[noreturn]] void execute(const std::vector<std::string>& arguments, const Variables& variables) {
  for (const auto& [name, value] : variables) ::setenv(name.c_str(), value.c_str(), 1);
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  ::execv(argv[0], argv.data());
  ::_exit(127);
}

int wait_for(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// Appends what can be read; false at the end of the stream.
bool drain(int fd, std::string* out) {
  std::array<char, 4096> block{};
  const ssize_t n = ::read(fd, block.data(), block.size());
  if (n > 0) out->append(block.data(), static_cast<size_t>(n));
  return n > 0 || (n < 0 && errno == EINTR);
}

struct Pipe {
  int read_end = -1;
  int write_end = -1;
  Pipe() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return;
    read_end = ends[0];
    write_end = ends[1];
  }
};

// Feeds stdin and collects both outputs until they end.
void exchange(pid_t child, int in, int out, int err, const ProcessOptions& options,
              ProcessResult* result) {
  size_t sent = 0;
  bool interrupted = false;
  bool out_open = true;
  bool err_open = true;
  while (out_open || err_open) {
    if (in >= 0 && sent == options.input.size()) {
      ::close(in);
      in = -1;
    }
    std::array<pollfd, 3> fds{
        {{out_open ? out : -1, POLLIN, 0}, {err_open ? err : -1, POLLIN, 0}, {in, POLLOUT, 0}}};
    if (::poll(fds.data(), fds.size(), -1) < 0 && errno != EINTR) break;
    if (fds[0].revents != 0) out_open = drain(out, &result->out);
    if (fds[1].revents != 0) err_open = drain(err, &result->err);
    if (fds[2].revents != 0) {
      const ssize_t n = ::write(in, options.input.data() + sent, options.input.size() - sent);
      sent = n > 0 ? sent + static_cast<size_t>(n) : options.input.size();
    }
    const bool due = options.interrupt_after_bytes >= 0 &&
                     static_cast<int64_t>(result->out.size()) >= options.interrupt_after_bytes;
    if (due && !interrupted) {
      ::kill(child, SIGINT);
      interrupted = true;
    }
  }
  if (in >= 0) ::close(in);
}

}  // namespace

ProcessResult run_process(const std::vector<std::string>& arguments,
                          const ProcessOptions& options) {
  ::signal(SIGPIPE, SIG_IGN);  // a program that does not read its stdin is no fault of the test
  const Pipe in;
  const Pipe out;
  const Pipe err;
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGPIPE, SIG_DFL);
    ::dup2(in.read_end, STDIN_FILENO);
    ::dup2(out.write_end, STDOUT_FILENO);
    ::dup2(err.write_end, STDERR_FILENO);
    execute(arguments, options.variables);
  }
  ::close(in.read_end);
  ::close(out.write_end);
  ::close(err.write_end);
  ProcessResult result;
  exchange(child, in.write_end, out.read_end, err.read_end, options, &result);
  ::close(out.read_end);
  ::close(err.read_end);
  result.exit_code = wait_for(child);
  return result;
}

ProcessResult run_in_terminal(const std::vector<std::string>& arguments,
                              const std::vector<Typed>& script, const Variables& variables,
                              int seconds_max) {
  int terminal = -1;
  const pid_t child = ::forkpty(&terminal, nullptr, nullptr, nullptr);
  if (child == 0) execute(arguments, variables);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds_max);
  ProcessResult result;
  size_t step = 0;
  size_t seen = 0;
  while (true) {
    pollfd fd{terminal, POLLIN, 0};
    ::poll(&fd, 1, 200);
    if (fd.revents != 0 && !drain(terminal, &result.out)) break;
    if (std::chrono::steady_clock::now() > end) {
      ::kill(child, SIGKILL);
      break;
    }
    if (step == script.size()) continue;
    const size_t at = result.out.find(script[step].wait_for, seen);
    if (at == std::string::npos) continue;
    seen = at + script[step].wait_for.size();
    const std::string& text = script[step].send;
    if (::write(terminal, text.data(), text.size()) < 0) break;
    ++step;
  }
  ::close(terminal);
  result.exit_code = wait_for(child);
  return result;
}

}  // namespace trine::testing
