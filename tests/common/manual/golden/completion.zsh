#compdef linkgain
_linkgain() {
  local state
  _arguments -C \
    '-h[Print this help message and exit]' \
    '--help[Print this help message and exit]' \
    '--version[What was built]' \
    '1:command:->command' \
    '*::argument:->argument' && return
  case $state in
    command)
      local -a commands=(
        'measure:Measure \[all\], it'\''s quick\: fast'
        'show:Show files'
      )
      _describe command commands ;;
    argument)
      case $words[1] in
        measure) _arguments \
          '-h[Print this help message and exit]' \
          '--help[Print this help message and exit]' \
          '*''-o+[Operations, .all by default]:OP,...:_values -s , word all_reduce all_gather copy' \
          '*''--only=[Operations, .all by default]:OP,...:_values -s , word all_reduce all_gather copy' \
          '--format=[How a\\b is printed]:FORMAT:(table md)' \
          '--out=[Folder]:DIR:_files -/' \
          '--tokens=[What is read]:FILE:_files' \
          '--np=[Ranks (default\: 2)]:N: ' \
          '--quiet[Nothing is said]' \
          '--rates[More is better]' \
          && return ;;
        show) _arguments \
          '-h[Print this help message and exit]' \
          '--help[Print this help message and exit]' \
          '*:files:_files' \
          && return ;;
      esac ;;
  esac
}
_linkgain "$@"
