# Completion of linkgain for bash.
_linkgain() {
  local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command=linkgain word
  if [[ $current == = ]]; then
    current=
  elif [[ $before == = ]]; then
    before=${COMP_WORDS[COMP_CWORD - 2]}
  fi
  _linkgain_words() { mapfile -t COMPREPLY < <(compgen -W "$1" -- "$current"); }
  _linkgain_list() {
    local done=
    [[ $current != *,* ]] || done=${current%,*},
    mapfile -t COMPREPLY < <(compgen -P "$done" -W "$1" -- "${current##*,}")
    compopt -o nospace
  }
  COMPREPLY=()
  for word in "${COMP_WORDS[@]:1:COMP_CWORD - 1}"; do
    case $word in
      measure | show) command=$word; break ;;
    esac
  done
  case $command:$before in
    measure:-o | measure:--only) _linkgain_list 'all_reduce all_gather copy'; return ;;
    measure:--format) _linkgain_words 'table md'; return ;;
    measure:--out) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -d -- "$current"); return ;;
    measure:--tokens) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$current"); return ;;
    measure:--np) :; return ;;
  esac
  case $command:$current in
    linkgain:-*) _linkgain_words '-h --help --version' ;;
    linkgain:*) _linkgain_words 'measure show' ;;
    measure:-*) _linkgain_words '-h --help -o --only --format --out --tokens --np --quiet --rates' ;;
    measure:*) : ;;
    show:-*) _linkgain_words '-h --help' ;;
    show:*) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$current") ;;
  esac
}
complete -F _linkgain linkgain
