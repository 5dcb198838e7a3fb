# Completion for bash: verbs, options, their values, and folders for MODEL.
# The options are those of `trine VERB --help`; a test keeps the two lists equal.

_trine() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
  local verbs='run chat serve inspect selfcheck bench synth tokenize detokenize render parse logits verify generate'
  local model='--precision --int8 --threads --prefill-chunk --context --isa --allow-paging --quiet'
  local sampling='--max-tokens --temperature --top-p --top-k --min-p --seed'
  local prompt='--system --tools --think'
  local ids='--ids --ids-file'
  local serve='--host --port --tls-certificate --tls-key --cors-origin --connections-max
    --header-bytes-max --body-bytes-max --idle-timeout --keep-alive --concurrency
    --memory --snapshot-memory --snapshot-spacing --snapshot-dir --snapshot-dir-bytes
    --queue --step-ms --api-key-file --api-key --requests-per-key --prompt-tokens-max
    --n-max --request-timeout --max-tokens --model-name --temperature --top-p
    --vendor-strict --usage-counts-stub --api-threads --log --log-requests --drain
    --config'
  local verb=${COMP_WORDS[1]} options
  COMPREPLY=()

  if [[ $COMP_CWORD -eq 1 ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$verbs --help --version" -- "$current")
    return
  fi

  case $previous in
    --precision) mapfile -t COMPREPLY < <(compgen -W 'fast exact' -- "$current"); return ;;
    --isa)
      mapfile -t COMPREPLY < <(compgen -W 'scalar avx2 avx512 avx512_bf16 amx' -- "$current")
      return ;;
    --think)
      mapfile -t COMPREPLY < <(compgen -W 'none on low medium high max' -- "$current")
      return ;;
    --preset)
      mapfile -t COMPREPLY < <(compgen -W 'tiny tiny-linear bench4g mini k3 kimi-linear' -- "$current")
      return ;;
    --tls-certificate | --tls-key | --api-key-file | --log | --log-requests | --config)
      mapfile -t COMPREPLY < <(compgen -f -- "$current")
      return ;;
    --snapshot-dir) mapfile -t COMPREPLY < <(compgen -d -- "$current"); return ;;
    --tools | --messages | --load | --against | --out | --ids-file | --shape)
      mapfile -t COMPREPLY < <(compgen -f -- "$current")
      return ;;
    --like) mapfile -t COMPREPLY < <(compgen -d -- "$current"); return ;;
    --threads | --prefill-chunk | --context | --max-tokens | --temperature | --top-p | --top-k | \
      --min-p | --seed | --system | --stop | --ids | --prefill | --depth | --batch | --tokens | \
      --repeats | --shard-bytes | --prefix | --tolerance)
      return ;;
  esac

  case $verb in
    run) options="$model $sampling $prompt --messages --raw --special --stop --json" ;;
    chat) options="$model $sampling $prompt --load --no-history" ;;
    serve) options="$model ${serve//$'\n'/ }" ;;
    inspect) options='--checksums --no-scan --int8 --isa --json' ;;
    bench) options="$model --prefill --depth --batch --tokens --repeats --no-busy --json" ;;
    synth) options='--like --shape --preset --seed --shard-bytes --quiet --json' ;;
    tokenize) options='--stdin --special --json' ;;
    detokenize) options='--stdin --json' ;;
    render) options='--stdin --text --json' ;;
    parse) options='--stdin --json' ;;
    logits) options="$model $ids --out --layers --json" ;;
    verify) options="$model $ids --against --prefix --tolerance --json" ;;
    selfcheck) options="$model --prompt-tokens --answer-tokens --seed --json" ;;
    generate) options="$model $ids --max-tokens --stop-at-eos --json" ;;
    *) return ;;
  esac
  if [[ $current == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$options --help" -- "$current")
  else
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen -f -- "$current")
  fi
}
complete -F _trine trine
