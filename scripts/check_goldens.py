#!/usr/bin/env python3
"""Every golden case on every instruction set, by the executable: scripts/check_goldens.py TRINE.

For each checkpoint of tests/golden and for models/k3-nano: `trine verify` of the logits in exact mode,
and `trine generate` of the greedy continuations. The last line names the instruction sets that ran.
"""
import json
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
GOLDEN = os.path.join(ROOT, "tests", "golden")
LEVELS = ("scalar", "avx2", "avx512", "avx512_bf16", "amx")


def cases():
    """(name, model folder, path of golden.json, path of golden.safetensors)"""
    for name in sorted(os.listdir(GOLDEN)):
        folder = os.path.join(GOLDEN, name)
        if os.path.isfile(os.path.join(folder, "golden.json")):
            yield name, os.path.join(folder, "model"), *(os.path.join(folder, "golden." + e) for e in ("json", "safetensors"))
    nano = os.path.join(ROOT, "models", "k3-nano")
    yield "k3-nano", nano, *(os.path.join(GOLDEN, "k3-nano.golden." + e) for e in ("json", "safetensors"))


def run(trine, level, *words):
    done = subprocess.run([trine, *words, "--isa", level], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def supported(trine):
    """Levels of this machine; a level it lacks is an error of the environment (3)."""
    levels = []
    for level in LEVELS:
        code, _, error = run(trine, level, "generate", os.path.join(ROOT, "models", "k3-nano"), "--ids", "1", "--max-tokens", "1", "-q")
        if code == 0:
            levels.append(level)
        elif code != 3:
            sys.exit(f"--isa {level}: exit code {code}, expected 0 or 3: {error}")
    return levels


def greedy_prompt(golden, spec):
    """'short', 'long[:n]', or the name of a prompt."""
    if spec in golden.get("prompts", {}):
        return golden["prompts"][spec]
    kind, _, count = spec.partition("[:")
    ids = golden[kind + "_ids"]
    return ids[:int(count.rstrip("]"))] if count else ids


def check_case(trine, level, model, golden, tensors):
    failures = []
    for kind in sorted(k[:-4] for k in golden if k.endswith("_ids")):
        ids = ",".join(map(str, golden[kind + "_ids"]))
        code, out, error = run(trine, level, "verify", model, "--against", tensors, "--prefix", kind + ".", "--ids", ids, "-q")
        if code != 0:
            failures.append(f"verify {kind}: {out}{error}")
    for spec, expected in golden["greedy"].items():
        ids = ",".join(map(str, greedy_prompt(golden, spec)))
        wanted = expected["tokens"][:expected["safe_len"]]
        code, out, error = run(trine, level, "generate", model, "--ids", ids, "--max-tokens", str(len(wanted)),
                               "--precision", "exact", "--json", "-q")
        found = json.loads(out)["ids"] if code == 0 else error
        if found != wanted:
            failures.append(f"greedy continuation of {spec}: {found} instead of {wanted}")
    return failures


def main():
    trine = sys.argv[1]
    levels = supported(trine)
    bad = 0
    count = 0
    for name, model, golden_path, tensors in cases():
        with open(golden_path, encoding="utf-8") as f:
            golden = json.load(f)
        for level in levels:
            failures = check_case(trine, level, model, golden, tensors)
            count += 1
            bad += bool(failures)
            print(f"{name} on {level}: {'ok' if not failures else 'FAILED'}")
            for failure in failures:
                print("   " + failure.strip()[:2000])
    print(f"goldens: {count} cases, {bad} failures")
    missing = [level for level in LEVELS if level not in levels]
    print(f"instruction sets that executed: {' '.join(levels)}" + (f" (not on this machine: {' '.join(missing)})" if missing else ""))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
