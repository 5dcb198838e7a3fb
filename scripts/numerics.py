#!/usr/bin/env python3
"""What a mode costs against exact: KL divergence and top-1 agreement on several texts.

    scripts/numerics.py TRINE MODEL [option of 'trine verify' ...]
    scripts/numerics.py TRINE --goldens [option of 'trine verify' ...]

The texts are rendered task prompts (tests/golden/tasks.jsonl: one of each kind) and prose of this
project; with --goldens the long prompts of the random golden checkpoints, against fp64. Prints one
Markdown row per text and the mean weighted by tokens.
"""
import json
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def run(arguments, stdin=None):
    done = subprocess.run(arguments, input=stdin, capture_output=True, check=False)
    if done.returncode not in (0, 1) or not done.stdout and "--out" not in arguments:
        sys.exit(f"{' '.join(arguments)}: exit {done.returncode}\n{done.stderr.decode()}")
    return done.stdout


def prompts(trine, model):
    """(name, ids): the first task of every category, then prose."""
    seen = set()
    with open(os.path.join(ROOT, "tests/golden/tasks.jsonl"), encoding="utf-8") as file:
        for line in file:
            task = json.loads(line)
            if task["category"] in seen:
                continue
            seen.add(task["category"])
            body = task["body"]
            options = {"thinking": body.get("chat_template_kwargs", {}).get("thinking", True)}
            request = {"messages": body["messages"], "tools": body.get("tools"), "options": options}
            if request["tools"] is None:
                del request["tools"]
            rendered = run([trine, "render", model, "--stdin"], json.dumps(request).encode())
            yield task["category"], json.loads(rendered)["ids"]
    for name in ("ARCHITECTURE.md", "LICENSE"):
        with open(os.path.join(ROOT, name), "rb") as file:
            ids = json.loads(run([trine, "tokenize", model, "--stdin"], file.read(3000)))
        yield name, ids


def comparisons(trine, model, folder):
    """(name, model folder, token count, arguments of verify) of every text."""
    if model == "--goldens":
        golden = os.path.join(ROOT, "tests/golden")
        for name in sorted(os.listdir(golden)):
            path = os.path.join(golden, name, "golden.json")
            if not os.path.exists(path):
                continue
            with open(path, encoding="utf-8") as file:
                ids = json.load(file)["long_ids"]
            reference = os.path.join(golden, name, "golden.safetensors")
            yield name, os.path.join(golden, name, "model"), len(ids), [
                "--against", reference, "--prefix", "long.", "--ids", ",".join(map(str, ids))]
        return
    reference = os.path.join(folder, "exact.safetensors")
    ids_file = os.path.join(folder, "ids.json")
    for name, ids in prompts(trine, model):
        with open(ids_file, "w", encoding="utf-8") as file:
            json.dump(ids, file)
        run([trine, "logits", model, "-q", "--ids-file", ids_file, "--precision", "exact", "--out",
             reference])
        yield name, model, len(ids), ["--against", reference]


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    trine, model, options = sys.argv[1], sys.argv[2], ["--precision", "fast"] + sys.argv[3:]
    print("| text | tokens | mean KL | top-1 agreement | relative norm |")
    print("|---|---|---|---|---|")
    total = kl = agreed = norm = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, path, tokens, arguments in comparisons(trine, model, folder):
            report = run([trine, "verify", path, "-q", "--json"] + arguments + options)
            logits = json.loads(report)["logits"]
            print(f"| {name} | {tokens} | {logits['kl_mean']:.1e} | {100 * logits['top1_agreement']:.2f} % "
                  f"| {100 * logits['relative_norm']:.2f} % |")
            total += tokens
            kl += logits["kl_mean"] * tokens
            agreed += logits["top1_agreement"] * tokens
            norm += logits["relative_norm"] ** 2 * tokens
    print(f"| all | {total} | {kl / total:.1e} | {100 * agreed / total:.2f} % "
          f"| {100 * (norm / total) ** 0.5:.2f} % |")


main()
