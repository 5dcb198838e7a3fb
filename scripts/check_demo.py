#!/usr/bin/env python3
"""Checks what `make demo` printed: scripts/check_demo.py FILE. Exit 1 with the first thing missing."""
import json
import re
import sys


def section(text, title):
    """What follows a heading, without the command line, up to the next heading."""
    match = re.search(rf"^== {title}[^\n]*\n\$ [^\n]*\n(.*?)(?=^== |\Z)", text, re.M | re.S)
    assert match, f"no section '{title}'"
    return match[1]


def check(text):
    inspection = section(text, "A checkpoint")
    for word in ("MLA", "KDA", "experts", "parameters", "memory"):
        assert re.search(word, inspection, re.I), f"the inspection does not mention {word}"

    chat = section(text, "A question")
    lines = [line for line in chat.splitlines() if line.strip()]
    assert any("latent" in line for line in lines), "the answer does not mention the latent vector"
    assert len(lines) >= 3, "reasoning, answer and statistics are not on lines of their own"

    tool = section(text, "A tool call")
    calls = [json.loads(line) for line in tool.splitlines() if line.startswith("{")]
    assert len(calls) == 1, f"{len(calls)} tool calls instead of one"
    arguments = calls[0]["arguments"]
    arguments = json.loads(arguments) if isinstance(arguments, str) else arguments
    assert calls[0]["name"] == "get_stock_price" and arguments == {"symbol": "QUIX"}, calls[0]

    assert "63317" in section(text, "A passkey"), "the passkey was not found"

    closing = re.search(
        r"^== (\d+) tokens read at (\d+) tokens/s, answer written at (\d+) tokens/s, "
        r"peak memory (\d+) MiB, threads (\d+), kernels (\w+) \((.+)\)$", text, re.M)
    assert closing, "no closing line with the figures"
    read, prefill, decode, peak, threads = (int(g) for g in closing.groups()[:5])
    assert read > 1500, f"the long prompt has only {read} tokens"
    assert prefill > 0 and decode > 0 and threads > 0, closing[0]
    assert 10 < peak < 1000, f"peak memory of {peak} MiB"


def main():
    with open(sys.argv[1], encoding="utf-8", errors="replace") as f:
        text = re.sub(r"\x1b\[[0-9;]*m|\r", "", f.read())
    try:
        check(text)
    except AssertionError as error:
        print(f"check_demo: {error}\n--- the demo printed:\n{text}", file=sys.stderr)
        return 1
    print("check_demo: all five parts are there")
    return 0


if __name__ == "__main__":
    sys.exit(main())
