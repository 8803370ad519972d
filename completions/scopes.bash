# bash completion for scopes. Load it in ~/.bashrc: eval "$(scopes completion bash)"
_scopes()
{
    local word glued="" rows
    local -a words=()
    for word in "${COMP_WORDS[@]:1:COMP_CWORD}"; do # Bash splits at "=", "@" and ":".
        if [[ ${#words[@]} -gt 0 && ( $word == [=@:]* || $glued ) ]]; then
            words[${#words[@]}-1]+=$word
        else
            words+=("${word#[\'\"]}")
        fi
        [[ $word == *[=@:] ]] && glued=yes || glued=""
    done
    local current=${words[${#words[@]}-1]-} last=${COMP_WORDS[COMP_CWORD]#[\'\"]}
    [[ $last == [=@:] ]] && last=""
    COMPREPLY=()
    rows=$(command scopes __complete -- "${words[@]}" 2>/dev/null) || compopt +o bashdefault +o default 2>/dev/null
    while IFS=$'\t' read -r word _; do
        [[ $word ]] && COMPREPLY+=("${word#"${current%"$last"}"}")
    done <<< "$rows"
}
complete -o bashdefault -o default -F _scopes scopes
