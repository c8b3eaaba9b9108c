# Completion of linkgain for fish.
complete -c linkgain -n __fish_use_subcommand -f -a measure -d 'Measure [all], it\'s quick: fast'
complete -c linkgain -n __fish_use_subcommand -f -a show -d 'Show files'
complete -c linkgain -n __fish_use_subcommand -s h -l help -d 'Print this help message and exit'
complete -c linkgain -n __fish_use_subcommand -l version -d 'What was built'
complete -c linkgain -n __fish_use_subcommand -f
complete -c linkgain -n '__fish_seen_subcommand_from measure' -s h -l help -d 'Print this help message and exit'
complete -c linkgain -n '__fish_seen_subcommand_from measure' -s o -l only -x -a '(__fish_append , all_reduce all_gather copy)' -d 'Operations, .all by default'
complete -c linkgain -n '__fish_seen_subcommand_from measure' -l format -x -a 'table md' -d 'How a\\b is printed'
complete -c linkgain -n '__fish_seen_subcommand_from measure' -l out -x -a '(__fish_complete_directories)' -d 'Folder'
complete -c linkgain -n '__fish_seen_subcommand_from measure' -l tokens -r -F -d 'What is read'
complete -c linkgain -n '__fish_seen_subcommand_from measure' -l np -x -d 'Ranks (default: 2)'
complete -c linkgain -n '__fish_seen_subcommand_from measure' -l quiet -d 'Nothing is said'
complete -c linkgain -n '__fish_seen_subcommand_from measure' -l rates -d 'More is better'
complete -c linkgain -n '__fish_seen_subcommand_from measure' -f
complete -c linkgain -n '__fish_seen_subcommand_from show' -s h -l help -d 'Print this help message and exit'
