# shellcheck shell=bash disable=SC2207
# Completion of plov, plovd, plov-door, plov-bench and plov-torture, for bash-completion, which has loaded what is
# called here and not defined. What there is to complete is asked of the program's own --help, so it is
# never that of another version.

# The options that are described on standard input: lines "--name", "--name VALUE" and "--name [=VALUE]".
_plov_options() { sed -nE 's/^  (-[A-Za-z] \[ )?(--[a-z-]+)( \])?( [^ ]+)?( .*)?$/\2\4/p'; }

# _plov_commands PROGRAM: those that its help on standard input lists, or has in its usage.
_plov_commands() {
  sed -nE "/^Commands:/,/^$/s/^  ([a-z]+) .*/\1/p; s/^(Usage:| {6}) ${1##*/} ([a-z]+) .*/\2/p"
}

# _plov_value WORD: what may stand for a word of a synopsis, as DIR, shm|rdma or [FILE|-].
_plov_value() {
  local kind kinds
  IFS='|' read -ra kinds <<< "${1//[][.,]/}"
  for kind in "${kinds[@]}"; do
    case $kind in
      FILE | PATH) _filedir ;;
      DIR | NEWDIR | TARGET) _filedir -d ;;
      URI)
        COMPREPLY+=($(compgen -W 'shm: rdma://' -- "$cur"))
        if [[ $cur == shm:/* ]]; then COMPREPLY+=($(compgen -P shm: -f -- "${cur#shm:}")); fi
        compopt -o nospace
        ;;
      static:FILE)
        COMPREPLY+=($(compgen -W static: -- "$cur"))
        if [[ $cur == static:* ]]; then COMPREPLY=($(compgen -P static: -f -- "${cur#static:}")); fi
        compopt -o nospace
        ;;
      [a-z0-9-]*) COMPREPLY+=($(compgen -W "$kind" -- "$cur")) ;;
    esac
  done
}

# _plov_words SYNOPSIS POSITION: what may stand there, as "check|list DIR, cut DIR" or "get | set" says.
_plov_words() {
  local form words forms=${1//, /$'\n'}
  while read -r form; do
    read -ra words <<< "$form"
    _plov_value "${words[$2]-}"
  done <<< "${forms// | /$'\n'}"
}

_plov() {
  local cur prev words cword split program=$1 help own="" commands command="" options position=0 at word
  _init_completion -s -n : || return
  help=$("$program" --help 2> /dev/null) || return
  commands=$(_plov_commands "$program" <<< "$help")
  options=$(_plov_options <<< "$help") # of every command, to know which words are their values
  for ((at = 1; at < cword; ++at)); do
    word=${words[at]}
    if [[ $word == --* ]]; then
      if grep -q -e "^$word [^[]" <<< "$options"; then ((++at)); fi
    elif [[ -n $command ]]; then
      ((++position))
    elif [[ $'\n'$commands$'\n' == *$'\n'"$word"$'\n'* ]]; then
      command=$word
      own=$("$program" "$command" --help 2> /dev/null)
    fi
  done
  # A command that has a --help of its own takes its own options alone.
  options=$(_plov_options <<< "$own")
  if [[ $'\n'$options$'\n' != *$'\n'--help$'\n'* ]]; then
    options+=$'\n'$(sed -n '/^Options:/,/^$/p' <<< "$help" | _plov_options)
    if [[ $options != *--help* ]]; then options+=$'\n--help\n--version'; fi
  fi
  if [[ $prev == --* ]] && word=$(grep -m 1 -e "^$prev " <<< "$options") && [[ $split == true || $word != *[* ]]; then
    _plov_value "${word#* }"
  elif [[ $cur == -* && $split == false ]]; then
    COMPREPLY=($(compgen -W "$(cut -d ' ' -f 1 <<< "$options")" -- "$cur"))
  elif [[ -z $command || $command == help ]]; then
    COMPREPLY=($(compgen -W "$commands" -- "$cur"))
  else
    _plov_words "$(sed -nE "s/^Usage: .* $command (\[OPTION\]\.\.\.)? ?//p" <<< "$own")" "$position"
  fi
  __ltrim_colon_completions "$cur"
}

complete -F _plov plov plovd plov-door plov-bench plov-torture
