"""A trine server of a test's own: a free port, k3-nano, gone at the end."""
import contextlib
import os
import re
import signal
import subprocess
import threading
import time
import urllib.request

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
NANO = os.path.join(ROOT, "models", "k3-nano")


class Server:
    def __init__(self, trine, *options, model=NANO, env=None):
        command = [trine, "serve", model, "--port", "0", *options]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True,
                                        env={**os.environ, **(env or {})})
        self.lines = []
        self.url = None
        self._found = threading.Event()
        threading.Thread(target=self._read, daemon=True).start()
        if not self._found.wait(120) or self.url is None:
            raise RuntimeError("the server did not start:\n" + "\n".join(self.lines))
        self.wait_ready()

    def _read(self):
        for line in self.process.stderr:
            self.lines.append(line.rstrip("\n"))
            match = re.search(r"https?://[^\s/]+:\d+", line)
            if match and self.url is None:
                self.url = match.group(0)
                self._found.set()
        self._found.set()

    def wait_ready(self):
        for _ in range(600):
            with contextlib.suppress(OSError):
                if urllib.request.urlopen(self.url + "/health", timeout=5).status == 200:
                    return
            time.sleep(0.1)
        raise RuntimeError("no 200 from /health:\n" + "\n".join(self.lines))

    def rss_bytes(self):
        with open(f"/proc/{self.process.pid}/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def stop(self, kind=signal.SIGTERM, timeout=60):
        self.process.send_signal(kind)
        return self.process.wait(timeout)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
