# bash completion for scopes. Load it in ~/.bashrc: eval "$(scopes completion bash)"
_scopes()
{
    local word glued="" rows
    local -a words=()
    # Bash splits at "=", "@" and ":"; scopes wants words as they were typed.
    for word in "${COMP_WORDS[@]:1:COMP_CWORD}"; do
        if [[ ${#words[@]} -gt 0 && ( $word == [=@:]* || $glued ) ]]; then
            words[${#words[@]}-1]+=$word
        else
            words+=("$word")
        fi
        glued=""
        [[ $word == *[=@:] ]] && glued=yes
    done
    local current=${words[${#words[@]}-1]-} last=${COMP_WORDS[COMP_CWORD]}
    [[ $last == [=@:] ]] && last=""
    local before=${current%"$last"}
    # The quote that begins an unfinished word is not a part of it.
    words[${#words[@]}-1]=$before${last#[\'\"]}
    COMPREPLY=()
    # The exit code is not 0 if a name is expected and none matches; file names would be wrong then.
    rows=$(command scopes __complete -- "${words[@]}" 2>/dev/null) || compopt +o bashdefault +o default 2>/dev/null
    while IFS=$'\t' read -r word _; do
        word=${word#"$before"}
        # A name that came from elsewhere must not be run by the shell.
        if [[ $word == *[\$\`\;\&\|\(\)\<\>\\\"\'\!\ ]* ]]; then
            [[ $last == [\'\"]* ]] && continue
            printf -v word %q "$word"
        fi
        [[ $word ]] && COMPREPLY+=("$word")
    done <<< "$rows"
}
complete -o bashdefault -o default -F _scopes scopes
