# shellcheck shell=bash
# Completion of linkgain and linkgain-bench for bash: the program itself says what can stand at the cursor.
_linkgain() {
  local words=() begun=$COMP_CWORD i line typed
  for ((i = 1; i <= COMP_CWORD; ++i)); do
    if [[ ${COMP_WORDS[i]} == -- ]] && ((i < COMP_CWORD)); then
      _linkgain_command $((i + 1))
      return
    fi
    # Bash takes = and : for words of their own.
    if ((${#words[@]} > 0)) && [[ ${COMP_WORDS[i]} == [=:]* || ${words[-1]} == *[=:] ]]; then
      words[-1]+=${COMP_WORDS[i]}
    else
      words+=("${COMP_WORDS[i]}")
    fi
  done
  typed=${COMP_WORDS[begun]#[=:]}
  COMPREPLY=()
  while IFS= read -r line; do
    case $line in
      :files | :folders)
        compopt -o filenames
        [[ $line == :files ]] && line=-f || line=-d
        mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen "$line" -- "$typed")
        ;;
      *) COMPREPLY+=("${line%%$'\t'*}") ;;
    esac
  done < <("${COMP_WORDS[0]}" --complete "${words[@]}" 2>/dev/null)
  [[ $typed != *,* ]] || compopt -o nospace
}

# Behind --, a command of its own begins with the word of this number.
_linkgain_command() {
  if declare -F _command_offset >/dev/null; then
    _command_offset "$1"
  elif (($1 == COMP_CWORD)); then
    mapfile -t COMPREPLY < <(compgen -c -- "${COMP_WORDS[COMP_CWORD]}")
  else
    compopt -o filenames
    mapfile -t COMPREPLY < <(compgen -f -- "${COMP_WORDS[COMP_CWORD]}")
  fi
}

complete -F _linkgain linkgain linkgain-bench
