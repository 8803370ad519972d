"""The completion scripts of bash, zsh and fish. They only call `scopes __complete`."""

from __future__ import annotations

from scopes.errors import Invalid

TYPE_CHECKING = False
if TYPE_CHECKING:
    from scopes.cli.invocation import Invocation
    from scopes.cli.table import Table

BASH = r"""# bash completion for scopes. Load it in ~/.bashrc: eval "$(scopes completion bash)"
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
"""

ZSH = r"""#compdef scopes
# zsh completion for scopes. Put it on the fpath as _scopes, or load it: eval "$(scopes completion zsh)"
_scopes()
{
    local -a rows described
    local row output
    integer files=1
    output=$(command scopes __complete -- "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null) || files=0
    rows=("${(@f)output}")
    for row in $rows; do
        described+=("${${row%%$'\t'*}//:/\\:}:${row#*$'\t'}")
    done
    if (( $#described )); then
        _describe -V scopes described
    elif (( files )); then
        _files
    fi
}
if [[ $funcstack[1] == _scopes ]]; then
    _scopes "$@"
elif (( $+functions[compdef] )); then
    compdef _scopes scopes
fi
"""

FISH = r"""# fish completion for scopes. Load it in config.fish: scopes completion fish | source
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
"""

# fzf quotes what it puts in the place of {1}; the columns of `list` in a pipe are separated by tabs.
_FZF = r"""fzf --delimiter='\t' --with-nth=5,4,2,1 --layout=reverse --tiebreak=index \
            --prompt='conversation> ' --preview-window='right,55%,wrap,<90(down,60%,wrap)' \
            --preview='command env "COLUMNS=$FZF_PREVIEW_COLUMNS" scopes --color=always show {1}'"""

FZF = f"""# Choose a conversation with fzf. Load it in ~/.bashrc or ~/.zshrc: eval "$(scopes completion fzf)"
# It takes the options of scopes list, shows the log of what was chosen, and prints its name if that is asked for:
# scopes resume "$(scopes-fzf --project .)"
scopes-fzf() {{
    local row
    row=$(
        command scopes list "$@" |
        command {_FZF}
    ) || return
    row=${{row%%"$(printf '\\t')"*}}
    if [ -t 1 ]; then
        command scopes log "$row"
    else
        printf '%s\\n' "$row"
    fi
}}
"""

FZF_FISH = f"""# Choose a conversation with fzf. Load it in config.fish: scopes completion fzf-fish | source
# It takes the options of scopes list, shows the log of what was chosen, and prints its name if that is asked for:
# scopes resume (scopes-fzf --project .)
function scopes-fzf
    set -l row (
        command scopes list $argv |
        command {_FZF}
    )
    or return
    set -l name (string split -m1 \\t -- $row)[1]
    if isatty stdout
        command scopes log "$name"
    else
        printf '%s\\n' "$name"
    end
end
"""

SCRIPTS = {"bash": BASH, "zsh": ZSH, "fish": FISH, "fzf": FZF, "fzf-fish": FZF_FISH}


def print_script(_table: Table, words: list[str], invocation: Invocation) -> int:
    """Print the completion script of a shell, or the function that chooses with fzf."""
    if len(words) != 1 or words[0] not in SCRIPTS:
        raise Invalid(
            "completion needs one shell: bash, zsh or fish; or fzf, or fzf-fish",
            hint='for example: eval "$(scopes completion bash)"',
        )
    invocation.stdout.write(SCRIPTS[words[0]])
    return 0
