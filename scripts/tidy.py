#!/usr/bin/env python3
"""Style as a test: layering, sizes, banned calls and stray content. Prints findings; exit 1 if any.

The layers are read from CMakeLists.txt (trine_room), so that they are written down once.
"""
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
HEADER_LINES_MAX = 150
SOURCE_LINES_MAX = 600
FUNCTION_LINES_MAX = 70
COLUMNS_MAX = 100
BLOB_BYTES_MAX = 256 * 1024

CPP = (".cc", ".h")
SOURCE = CPP + (".py", ".sh", ".cmake", ".bash")
DATA = ("models/", "tests/golden/", "fuzz/corpus/")  # content of others' making: never judged as text

# Who may include what comes from outside: the wrapping file or folder of each library.
WRAPPED = {
    "nlohmann/": ("src/base/json.cc", "apps/trine/"),
    "hwloc": ("src/platform/topology.cc",),
    "unicode/": ("src/text/", "tests/text/"),
    "openssl/": ("src/platform/sha256.cc", "src/http/tls_context.cc", "tests/"),
    "boost/": ("src/http/network.cc", "src/http/request_parser.cc"),
    "CLI/": ("apps/",),
    "histedit": ("apps/",),
    "editline/": ("apps/",),
    "gtest/": ("tests/",),
}
# Instruction-set folders see C headers and their own plain headers only: an inline function of the
# standard library compiled there could be linked into code for lesser processors.
ISA_FOLDERS = ("avx2", "avx512", "avx512bf16", "amx")

BANNED_EVERYWHERE = {
    r"\bstd::regex\b": "std::regex is slow and recursive; write the few lines by hand",
    r"(?<![\w.])(?:std::)?(?:s?rand|drand48)\s*\(": "use a seeded generator",
    r"\busing namespace\b": "spell the namespace",
    r"(?<![\w.])new\s+[A-Za-z_:]": "use containers or std::make_unique",
    r"(?<![\w.=] )\bdelete\s+[a-z_*]": "use containers or std::unique_ptr",
    r"\b(?:strcpy|strcat|sprintf|gets|strtok)\s*\(": "unbounded or stateful C function",
}
BANNED_IN_LIBRARY = {
    r"\bgetenv\s*\(": "the library reads no environment; pass it as an option",
    r"\b(?:printf|fprintf|puts|fputs|putchar|perror)\s*\(": "the library never prints",
    r"\bstd::(?:cout|cerr|clog)\b": "the library never prints",
    r"(?<!\w)(?:exit|_exit|abort|quick_exit)\s*\(|std::terminate\b": "the library never ends the process",
    r"\b(?:system|popen)\s*\(": "the library starts no programs",
}
BANNED_EXCEPT = {
    "src/base/check.cc": "abort|fprintf|terminate",
    "src/platform/memory.cc": "fputs",  # writes a file of /proc
}
UNFINISHED = re.compile(r"\b(?:TO" r"DO|FIX" r"ME|X" r"XX|HA" r"CK)\b")
MACHINE = re.compile(
    r"(?:^|[^\w.])/(?:work|home|root|Users)/\w|py" r"pi\.org|python" r"hosted|npm" r"js\.(?:org|com)|crates" r"\.io"
    r"|proxy\." r"golang|arti" r"factory|deb\." r"debian\.org"
)

findings = []


def report(path, line, text):
    findings.append(f"{path}:{line}: {text}" if line else f"{path}: {text}")


def tracked_files():
    """Files of the work tree that git knows or would add; all files where there is no git."""
    try:
        out = subprocess.run(
            ["git", "-C", ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            check=True, capture_output=True).stdout
        names = out.decode().split("\0")
    except (OSError, subprocess.CalledProcessError):
        names = []
        for folder, subfolders, files in os.walk(ROOT):
            subfolders[:] = [s for s in subfolders if s != ".git" and not s.startswith("build")]
            names += [os.path.relpath(os.path.join(folder, f), ROOT) for f in files]
    return sorted({n for n in names if n and os.path.isfile(os.path.join(ROOT, n))})


def read_rooms():
    """{room: rooms it may include}, itself among them."""
    rooms = {}
    with open(os.path.join(ROOT, "CMakeLists.txt")) as f:
        for match in re.finditer(r"^trine_room\((\w+)(.*)\)$", f.read(), re.M):
            uses = re.search(r"USES ([\w ]+)", match[2])
            words = uses[1].split("PACKAGES")[0].split() if uses else []
            rooms[match[1]] = {match[1], *words}
    return rooms


def blank_comments_and_strings(text):
    """The code alone, with line breaks kept, so that words in comments are no calls."""
    pattern = re.compile(
        r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])+\'', re.S)

    def blank(match):
        kept = '""' if match[0][0] in "\"'R" else ""
        return kept + "\n" * match[0].count("\n")

    return pattern.sub(blank, text)


FUNCTION_HEAD = re.compile(
    r"\)\s*(?:const|noexcept|override|final|mutable|volatile|&&?|->\s*[\w:<>,\s*&]+|requires[^{]*)*\s*(?P<init>:[^:].*)?$",
    re.S)


def functions(code):
    """(first line, last line) of every function body at namespace or class scope."""
    found = []
    scopes = []  # (kind, first line of the statement)
    statement = ""
    line = 1
    statement_line = 1
    depth_in_function = 0
    for char in code:
        if char == "\n":
            line += 1
        if depth_in_function:
            depth_in_function += {"{": 1, "}": -1}.get(char, 0)
            if depth_in_function == 0:
                found.append((scopes.pop()[1], line))
                statement = ""
            continue
        if char == "{":
            head = statement.strip()
            is_scope = re.search(r"\bnamespace\b|extern\s*\"\"$", head) or (
                re.search(r"\b(?:class|struct|union|enum)\b", head) and not re.search(r"\)\s*(?:const|noexcept)?$", head))
            match = None if is_scope else FUNCTION_HEAD.search(head)
            if match and match["init"] and re.search(r"[\w>]$", head):
                match = None  # member{value} of a constructor's initialisers
                scopes.append(("initialiser", line))
            elif match:
                scopes.append(("function", statement_line))
                depth_in_function = 1
            else:
                scopes.append(("scope" if is_scope else "initialiser", line))
            if scopes[-1][0] == "scope":
                statement = ""
        elif char == "}":
            kind = scopes.pop()[0] if scopes else "scope"
            if kind == "scope":
                statement = ""
        elif char == ";":
            statement = ""
        else:
            if not statement.strip() and not char.isspace():
                statement_line = line
                statement = ""
            statement += char
        if char in "{};" and not statement:
            statement_line = line
    return found


def allowed_includes(path, rooms):
    """Rooms that a file may include from, or None where anything goes."""
    parts = path.split("/")
    if parts[0] == "src" and parts[1] in rooms:
        return rooms[parts[1]] | {"trine"}
    if parts[0] == "tests" and len(parts) > 2 and parts[1] != "support":
        return rooms.get(parts[1], {"base"}) | {"trine", "support"}  # cli: base for its JSON
    if parts[0] in ("apps", "examples"):
        return {"trine"}
    if parts[0] == "include":
        return {"trine"}
    return None


def check_includes(path, lines, rooms):
    allowed = allowed_includes(path, rooms)
    parts = path.split("/")
    isa = parts[0] == "src" and len(parts) > 3 and parts[2] in ISA_FOLDERS
    for number, line in enumerate(lines, 1):
        match = re.match(r'\s*#\s*include\s*([<"])([^>"]+)[>"]', line)
        if not match:
            continue
        name = match[2]
        for prefix, owners in WRAPPED.items():
            if name.startswith(prefix) and not path.startswith(owners):
                report(path, number, f"{name} is included by {' and '.join(owners)} only")
        if match[1] == '"':
            folder = name.split("/")[0] if "/" in name else ""
            beside = os.path.exists(os.path.join(ROOT, os.path.dirname(path), name))
            if not folder and not (beside and parts[0] in ("apps", "fuzz", "tests")):
                report(path, number, f'write "{name}" with its room, rooted at src/')
            elif folder and allowed is not None and folder not in allowed:
                report(path, number, f"may not include {name}: allowed are {', '.join(sorted(allowed))}")
        elif isa and not (name.endswith(".h") and "/" not in name):
            report(path, number, f"<{name}>: instruction-set code includes C headers only")
        elif parts[0] == "include" and (name.endswith(".h") or "/" in name):
            report(path, number, f"<{name}>: public headers include the standard library only")


def check_calls(path, code):
    banned = dict(BANNED_EVERYWHERE)
    if path.startswith("src/"):
        banned.update(BANNED_IN_LIBRARY)
    excepted = BANNED_EXCEPT.get(path)
    for number, line in enumerate(code.split("\n"), 1):
        for pattern, reason in banned.items():
            match = re.search(pattern, line)
            if match and not (excepted and re.search(excepted, match[0])):
                report(path, number, f"'{match[0].strip()}': {reason}")


def check_cpp(path, text, rooms):
    lines = text.split("\n")
    # .inl.h is code that each instruction-set folder compiles for itself: a source, included often.
    is_header = path.endswith(".h") and not path.endswith(".inl.h")
    limit = HEADER_LINES_MAX if is_header else SOURCE_LINES_MAX
    if len(lines) - 1 > limit:
        report(path, 0, f"has {len(lines) - 1} lines, at most {limit}: one file, one idea")
    # A file that belongs to a header may leave the introduction to it.
    has_header = path.endswith(".cc") and os.path.exists(os.path.join(ROOT, path[:-3] + ".h"))
    is_public = f'#include "trine/' in (lines[0] if lines else "")
    if not lines[0].startswith("//") and not (has_header or is_public):
        report(path, 1, "the first comment says what the file is")
    if is_header and "#pragma once" not in text:
        report(path, 1, "#pragma once is missing")
    check_includes(path, lines, rooms)
    code = blank_comments_and_strings(text)
    check_calls(path, code)
    for first, last in functions(code):
        if last - first + 1 > FUNCTION_LINES_MAX:
            report(path, first, f"function of {last - first + 1} lines, at most {FUNCTION_LINES_MAX}")


def check_text(path, text):
    is_source = path.endswith(SOURCE) or path in ("Makefile", ".ci/run")
    for number, line in enumerate(text.split("\n"), 1):
        if line.endswith((" ", "\t", "\r")):
            report(path, number, "blank at the end of the line")
        if "\t" in line and path != "Makefile":
            report(path, number, "tab")
        if is_source and not line.isascii():
            report(path, number, "not ASCII; write \\x.. or \\u....")
        if path.endswith(CPP) and len(line) > COLUMNS_MAX:
            report(path, number, f"{len(line)} columns, at most {COLUMNS_MAX}")
        match = UNFINISHED.search(line)
        if match:
            report(path, number, f"{match[0]}: finish it or file it, not leave it")
        match = MACHINE.search(line)
        if match:
            report(path, number, f"'{match[0].strip()}' names a machine or a registry")
    if text and not text.endswith("\n"):
        report(path, 0, "no line break at the end")
    if text.endswith("\n\n"):
        report(path, 0, "blank lines at the end")


def check_rooms_have_tests(paths, rooms):
    for room in rooms:
        has_code = any(p.startswith(f"src/{room}/") and p.endswith(".cc") for p in paths)
        has_test = any(p.startswith(f"tests/{room}/") and p.endswith("_test.cc") for p in paths)
        if has_code and not has_test:
            report(f"src/{room}", 0, f"has no test in tests/{room}")
    for path in paths:
        room = path.split("/")[1] if path.startswith("src/") else None
        if room and room not in rooms:
            report(path, 0, f"'{room}' is no room of CMakeLists.txt")


def main():
    rooms = read_rooms()
    if len(rooms) < 5:
        report("CMakeLists.txt", 0, f"only {len(rooms)} rooms found: tidy.py cannot read it")
    paths = tracked_files()
    for path in paths:
        full = os.path.join(ROOT, path)
        if os.path.islink(full) or path.startswith(DATA):
            continue
        size = os.path.getsize(full)
        if size > BLOB_BYTES_MAX:
            report(path, 0, f"{size} bytes; large data belongs in models/ or tests/golden/")
            continue
        try:
            with open(full, encoding="utf-8", newline="") as f:
                text = f.read()
        except UnicodeDecodeError:
            report(path, 0, "is neither UTF-8 text nor data of tests/golden, models or fuzz/corpus")
            continue
        if path != "LICENSE":
            check_text(path, text)
        if path.endswith(CPP):
            check_cpp(path, text, rooms)
    check_rooms_have_tests(paths, rooms)
    for finding in findings:
        print(finding)
    print(f"tidy: {len(paths)} files, {len(findings)} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
