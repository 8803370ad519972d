# fish completion for scopes. Load it in config.fish: scopes completion fish | source
function __scopes_complete
    set -l before (commandline -opc)
    set -l current (commandline -ct)
    set -l rows (command scopes __complete -- $before[2..-1] "$current" 2>/dev/null)
    set -l code $status
    if test (count $rows) -gt 0
        printf '%s\n' $rows
    else if test $code -eq 0
        __fish_complete_path "$current"
    end
end
complete -c scopes -f -a '(__scopes_complete)'
