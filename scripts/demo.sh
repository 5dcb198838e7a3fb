#!/bin/bash
# What trine does, on the bundled checkpoint: `make demo`.
#   scripts/demo.sh TRINE MODEL
set -euo pipefail
cd "$(dirname "$0")/.."

trine=${1:?usage: scripts/demo.sh TRINE MODEL}
model=${2:?usage: scripts/demo.sh TRINE MODEL}
question='What does MLA cache per token?'
request='What is the price of QUIX?'
tools=examples/demo/tools.json
text=examples/demo/long_text.txt

# A heading, and the command that makes what follows: every line of the demo can be repeated.
show() { printf '\n== %s\n$ %s\n' "$1" "$2"; }

show "A checkpoint: is it whole, what is in it, what does it cost?" "trine inspect $model"
"$trine" inspect "$model"

show "A question (reasoning first, then the answer)" "trine run $model '$question'"
"$trine" run "$model" "$question" --max-tokens 256 2>&1

show "A tool call, as JSON" "trine run $model --tools $tools '$request'"
"$trine" run "$model" --tools "$tools" "$request" --max-tokens 256 2>&1

show "A passkey, hidden in a long text ($(wc -w <"$text") words)" "trine run $model --json <$text"
answer=$("$trine" run "$model" --json --max-tokens 160 <"$text")

python3 - "$answer" <<'PYTHON'
import json
import sys

answer = json.loads(sys.argv[1])
speed, machine = answer["timings"], answer["machine"]
print(answer["content"])
print(f"\n== {answer['usage']['prompt_tokens']} tokens read at {speed['prefill_tokens_per_s']:.0f} tokens/s, "
      f"answer written at {speed['decode_tokens_per_s']:.0f} tokens/s, "
      f"peak memory {machine['peak_rss_bytes'] / 2**20:.0f} MiB, "
      f"threads {machine['threads']}, kernels {machine['isa']} ({machine['kernels']})")
PYTHON
