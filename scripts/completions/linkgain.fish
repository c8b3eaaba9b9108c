# Completion of linkgain and linkgain-bench for fish: the program itself says what can stand at the cursor.
function __linkgain_complete
    set -l words (commandline -opc) (commandline -ct)
    set -l ends (contains -i -- -- $words[1..-2])
    and complete -C (string join ' ' -- (string escape -- $words[(math $ends + 1)..-2]) $words[-1])
    and return
    set -l option (string match -r -- '^--[^=]+=' $words[-1]; or echo)
    set -l value (string replace -r -- '^--[^=]+=' '' $words[-1])
    for line in ($words[1] --complete $words[2..-1] 2>/dev/null)
        switch $line
            case :files
                printf '%s\n' $option(__fish_complete_path $value)
            case :folders
                printf '%s\n' $option(__fish_complete_directories $value '')
            case '*'
                printf '%s\n' $option$line
        end
    end
end
complete -c linkgain -f -a '(__linkgain_complete)'
complete -c linkgain-bench -f -a '(__linkgain_complete)'
