#!/usr/bin/env python3
"""The man page, the completion and the README against the executable: scripts/check_docs.py TRINE.

Every verb and option of `trine VERB --help` is in the man page and in the completion, and none is
there that the program lacks. Every kind of finding is described in docs/guide/inspect.md. With --run, every command of the man page's EXAMPLES and of the
README's `console` blocks is run as well.
"""
import glob
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SHARED_SECTIONS = {"MODEL OPTIONS": "the model", "PROMPT OPTIONS": "prompt options", "SAMPLING OPTIONS": "sampling"}

problems = []


def read(name):
    with open(os.path.join(ROOT, name), encoding="utf-8") as f:
        return f.read()


def help_text(trine, *words):
    done = subprocess.run([trine, *words, "--help"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        problems.append(f"'trine {' '.join(words)} --help' exits with {done.returncode}")
    return done.stdout


def options_in(text):
    return set(re.findall(r"(?<![\w-])--[a-z][a-z0-9-]*", text)) - {"--help", "--version"}


def program(trine):
    """{verb: its options}, from the option lists of the help texts (not from their prose)."""
    verbs = re.findall(r"^  ([a-z]+) {2,}", help_text(trine), re.M)
    found = {}
    for verb in verbs:
        lines = help_text(trine, verb).splitlines()
        heads = [re.match(r"  (-[^ ]*)", line) for line in lines]
        found[verb] = set().union(*(options_in(m[1].replace(",", " ")) for m in heads if m), set())
    return found


def manual():
    page = read("man/trine.1").replace("\\-", "-")
    chapters = dict(re.findall(r"^\.SH ([^\n]+)\n(.*?)(?=^\.SH |\Z)", page, re.M | re.S))
    shared = {name: options_in(re.sub(r"^[^.].*", "", chapters[name], flags=re.M)) for name in SHARED_SECTIONS}
    found = {}
    for title, body in re.findall(r"^\.SS trine ([^\n]+)\n(.*?)(?=^\.S[SH] |\Z)", page, re.M | re.S):
        options = options_in("\n".join(re.findall(r"^\.TP\n(\.B[^\n]*)", body, re.M)))
        prose = re.sub(r"^\..*", "", body, flags=re.M).replace("\n", " ")
        takes = re.search(r"Takes\s+the ([^.]*?)options below", prose)
        if takes:
            for name in SHARED_SECTIONS:
                if name.split()[0].lower() in takes[1]:
                    options |= shared[name]
        found[title.split()[0]] = options
    return found


def completion():
    """Asks bash itself what it would offer."""
    script = read("completions/trine.bash") + """
COMP_CWORD=1 COMP_WORDS=(trine ""); _trine; verbs="${COMPREPLY[*]}"
for verb in $verbs; do
  [[ $verb == -* ]] && continue
  COMP_CWORD=2 COMP_WORDS=(trine $verb --); _trine; echo "$verb ${COMPREPLY[*]}"
done
"""
    lines = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True).stdout
    return {line.split()[0]: options_in(line) for line in lines.splitlines()}


def compare(where, documented, actual):
    for verb in sorted(set(documented) ^ set(actual)):
        problems.append(f"{where}: verb '{verb}' is {'missing' if verb in actual else 'no verb of trine'}")
    for verb in sorted(set(documented) & set(actual)):
        for option in sorted(documented[verb] ^ actual[verb]):
            missing = option in actual[verb]
            problems.append(f"{where}: {verb} {option} {'is missing' if missing else 'does not exist'}")


def finding_kinds():
    """The kinds that the audit and inspect can report: the first word of whatever makes a finding."""
    word = r'"([a-z0-9]+(?:-[a-z0-9]+)*)"'
    severity = r"(?:(?:\w+ \? )?Severity::k\w+(?: : Severity::k\w+)?,\s*)?"
    makers = r"\b(?:add|note|fail|refuse|error_finding)\(\s*" + severity + r"(?:\w+ \? )?"
    pattern = re.compile(rf"(?:\.kind = (?:\w+ \? )?|kUnreadable = |{makers})" + word + rf"(?: : {word})?")
    files = glob.glob(os.path.join(ROOT, "src/checkpoint/*")) + [os.path.join(ROOT, "src/toolkit/inspect.cc")]
    found = set()
    for name in files:
        for match in pattern.finditer(read(name)):
            found |= {kind for kind in match.groups() if kind}
    # obstacle() chooses its kind by the status.
    table = re.search(r"Kind kind_of\(Code code\) \{(.*?)^\}", read("src/checkpoint/obstacle.cc"), re.M | re.S)[1]
    return found | set(re.findall(r'return \{\s*"([a-z-]+)",', table))


def check_kinds():
    guide = read("docs/guide/inspect.md").split("## Kinds of findings", 1)[1].split("\n## ", 1)[0]
    rows = re.findall(r"^\| (`[^|]*) \|", guide, re.M)
    documented = set(re.findall(r"`([a-z0-9-]+)`", " ".join(rows)))
    for kind in sorted(finding_kinds() ^ documented):
        problems.append(f"docs/guide/inspect.md: kind '{kind}' is {'no finding of trine' if kind in documented else 'missing'}")
    return len(documented)


def commands():
    examples = re.search(r"^\.SH EXAMPLES\n\.nf\n(.*?)^\.fi", read("man/trine.1"), re.M | re.S)[1]
    for line in examples.replace("\\-", "-").splitlines():
        yield "man/trine.1", line
    for block in re.findall(r"^```console\n(.*?)^```", read("README.md"), re.M | re.S):
        for line in re.findall(r"^\$ (.*(?:\\\n.*)*)", block, re.M):
            if re.match(r"(?:\./)?(?:build/release/)?trine ", line) or " trine " in line:
                yield "README.md", line


def run_commands(trine):
    """In a folder of their own that has the model and the demo's files."""
    with tempfile.TemporaryDirectory() as folder:
        for name in ("models", "examples", "tests"):
            os.symlink(os.path.join(ROOT, name), os.path.join(folder, name))
        path = os.path.dirname(os.path.abspath(trine)) + os.pathsep + os.environ["PATH"]
        for where, line in commands():
            line = line.replace("build/release/trine", "trine")
            done = subprocess.run(["bash", "-o", "pipefail", "-c", line], cwd=folder, text=True, capture_output=True,
                                  stdin=subprocess.DEVNULL, env={**os.environ, "PATH": path}, check=False)
            print(f"{'ran' if done.returncode == 0 else 'FAILED'}: {line}")
            if done.returncode != 0:
                problems.append(f"{where}: '{line}' exits with {done.returncode}: {done.stderr[-400:]}")


def main():
    trine = sys.argv[1]
    actual = program(trine)
    if len(actual) < 12:
        problems.append(f"only {len(actual)} verbs found in 'trine --help'")
    compare("man/trine.1", manual(), actual)
    compare("completions/trine.bash", completion(), actual)
    kinds = check_kinds()
    if "--run" in sys.argv[2:]:
        run_commands(trine)
    for problem in problems:
        print(problem)
    print(f"check_docs: {len(actual)} verbs, {kinds} kinds of findings, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
