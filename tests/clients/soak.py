#!/usr/bin/env python3
"""Mixed load with cancellations against a server of its own: soak.py TRINE [--seconds 1800] [--concurrent 16].

Every 20th answer is compared with the same request alone afterwards; resident memory must not grow; the
time between tokens is stated. Standard library only. Exit code 1 if anything was wrong."""
import argparse
import http.client
import json
import random
import socket
import statistics
import sys
import threading
import time
import urllib.parse

from server import Server

WORDS = "capital price passkey Vietnam Hanoi the of a QUIX what remember forty letter green".split()
TOOLS = [{"type": "function", "function": {"name": "look_up", "parameters": {
    "type": "object", "properties": {"key": {"type": "string", "maxLength": 12}}, "required": ["key"]}}}]
# Growth that the allocator's own caches explain; a leak of one token's record would exceed it in a minute.
GROWTH_BYTES_MAX = 24 << 20


def text_of(rng, words):
    return " ".join(rng.choice(WORDS) for _ in range(words))


def make_request(rng):
    """(path, body, what): all are answered with 200 but the malformed ones."""
    shared = [{"role": "system", "content": "You answer short questions. " * rng.randrange(1, 6)}]
    body = {"model": "k3-nano", "max_tokens": rng.randrange(1, 60), "seed": rng.randrange(1000),
            "temperature": rng.choice([0, 0.7, 1.0])}
    kind = rng.randrange(10)
    if kind < 6:
        body["messages"] = shared + [{"role": "user", "content": text_of(rng, rng.randrange(1, 80))}]
        body["stream"] = rng.random() < 0.5
        if kind == 5:
            body["tools"], body["tool_choice"], body["max_tokens"] = TOOLS, "required", 200
        elif kind == 4:
            body["response_format"] = {"type": "json_schema", "json_schema": {"name": "x", "schema": {
                "type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}}}
        return "/v1/chat/completions", body, "chat"
    if kind < 8:
        body["prompt"] = text_of(rng, rng.randrange(1, 200))
        body["echo"], body["logprobs"] = rng.random() < 0.3, rng.choice([None, 0, 3])
        return "/v1/completions", body, "completion"
    if kind == 8:
        body["messages"] = shared + [{"role": "user", "content": text_of(rng, 300)}]
        body["stream"], body["max_tokens"] = True, 400
        return "/v1/chat/completions", body, "leave"
    return "/v1/chat/completions", {"messages": rng.choice([[], None, 3]), "temperature": 9}, "malformed"


class Load:
    def __init__(self, url, seconds):
        self.address = urllib.parse.urlparse(url).netloc
        self.until = time.monotonic() + seconds
        self.lock = threading.Lock()
        self.counts, self.errors, self.samples, self.gaps = {}, [], [], []

    def count(self, what):
        with self.lock:
            self.counts[what] = self.counts.get(what, 0) + 1
            return sum(self.counts.values())

    def send(self, path, body):
        connection = http.client.HTTPConnection(self.address, timeout=300)
        connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
        return connection, connection.getresponse()

    def answer(self, path, body, leave_after=None):
        """The text of an answer, put together when it streams; None when we left."""
        connection, response = self.send(path, body)
        if response.status != 200:
            raise RuntimeError(f"{response.status}: {response.read()[:300]}")
        if not body.get("stream"):
            choice = json.loads(response.read())["choices"][0]
            connection.close()
            message = choice.get("message") or {"content": choice["text"]}
            return [message.get("content") or "", message.get("reasoning_content") or "",
                    [c["function"]["arguments"] for c in message.get("tool_calls") or []]]
        content, reasoning, calls, last, events = "", "", {}, None, 0
        for line in response:
            if not line.startswith(b"data: ") or line.startswith(b"data: [DONE]"):
                continue
            now = time.monotonic()
            if last is not None:
                with self.lock:
                    self.gaps.append(now - last)
            last, events = now, events + 1
            if leave_after is not None and events >= leave_after:
                connection.sock.shutdown(socket.SHUT_RDWR)
                connection.close()
                return None
            for choice in json.loads(line[6:]).get("choices", []):
                delta = choice["delta"]
                content += delta.get("content") or ""
                reasoning += delta.get("reasoning_content") or ""
                for call in delta.get("tool_calls") or []:
                    calls[call["index"]] = calls.get(call["index"], "") + (call["function"].get("arguments") or "")
        connection.close()
        return [content, reasoning, [calls[i] for i in sorted(calls)]]

    def client(self, seed):
        rng = random.Random(seed)
        while time.monotonic() < self.until:
            path, body, what = make_request(rng)
            number = self.count(what)
            try:
                if what == "malformed":
                    connection, response = self.send(path, body)
                    if response.status != 400:
                        raise RuntimeError(f"a malformed request got {response.status}")
                    connection.close()
                    continue
                got = self.answer(path, body, rng.randrange(1, 20) if what == "leave" else None)
                if what != "leave" and number % 20 == 0:
                    with self.lock:
                        self.samples.append((path, body, got))
            except Exception as error:  # noqa: BLE001: everything that goes wrong is a finding
                with self.lock:
                    self.errors.append(f"{what}: {error!r}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("trine")
    parser.add_argument("--seconds", type=float, default=1800)
    parser.add_argument("--concurrent", type=int, default=16)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with Server(options.trine, "--context", "2048", "--concurrency", str(options.concurrent)) as server:
        load = Load(server.url, options.seconds)
        threads = [threading.Thread(target=load.client, args=(options.seed * 1000 + i,)) for i in range(options.concurrent)]
        rss = []
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            rss.append(server.rss_bytes())
            time.sleep(0.5)
        wrong = 0
        for path, body, got in load.samples:
            alone = load.answer(path, body)
            if alone != got:
                wrong += 1
                print(f"different from the single run: {json.dumps(body)[:300]}\n  {got}\n  {alone}")
        quarter = max(1, len(rss) // 4)
        growth = statistics.median(rss[-quarter:]) - statistics.median(rss[quarter:2 * quarter])
        gaps = sorted(load.gaps)
        code = server.stop()
        print(f"requests {load.counts}; compared with their single runs: {len(load.samples)}, different: {wrong}")
        print(f"errors: {len(load.errors)} {load.errors[:3]}")
        print(f"inter-token time: median {1000 * gaps[len(gaps) // 2]:.1f} ms, p99 {1000 * gaps[int(len(gaps) * 0.99)]:.1f} ms")
        print(f"resident memory: {rss[quarter] / 2**20:.0f} MiB after a quarter, growth since {growth / 2**20:+.1f} MiB")
        print(f"exit code after SIGTERM: {code}")
        bad = wrong or load.errors or growth > GROWTH_BYTES_MAX or code != 0 or not load.samples
        print("FAILED" if bad else "passed")
        return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
