"""The completion scripts of bash, zsh and fish. They only call `scopes __complete`, which takes some milliseconds."""

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

SCRIPTS = {"bash": BASH, "zsh": ZSH, "fish": FISH}


def print_script(_table: Table, words: list[str], invocation: Invocation) -> int:
    """Print the completion script of a shell, or the function that chooses with fzf."""
    functions = {"fzf": "SH", "fzf-fish": "FISH"}
    if len(words) != 1 or words[0] not in {*SCRIPTS, *functions}:
        raise Invalid(
            "completion needs one shell: bash, zsh or fish; or fzf, or fzf-fish",
            hint='for example: eval "$(scopes completion bash)"',
        )
    name = functions.get(words[0])
    if name is None:
        script = SCRIPTS[words[0]]
    else:
        from scopes.cli import fzf_scripts

        script = getattr(fzf_scripts, name)
    invocation.stdout.write(script)
    return 0
