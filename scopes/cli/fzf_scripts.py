"""`scopes completion fzf`: a shell function that chooses a conversation with fzf, and shows each one on the way.

fzf quotes what it puts in the place of `{1}`, and a name has no character that a shell reads. The columns of `list` in
a pipe are separated by tabs, and its texts have none.
"""

from __future__ import annotations

from typing import Final

_FZF: Final = r"""fzf --delimiter='\t' --with-nth=5,4,2,1 --layout=reverse --tiebreak=index \
            --prompt='conversation> ' --preview-window='right,55%,wrap,<90(down,60%,wrap)' \
            --preview='command env "COLUMNS=$FZF_PREVIEW_COLUMNS" scopes --color=always conv show {1}'"""

SH: Final = f"""# Choose a conversation with fzf. Load it in ~/.bashrc or ~/.zshrc: eval "$(scopes completion fzf)"
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

FISH: Final = f"""# Choose a conversation with fzf. Load it in config.fish: scopes completion fzf-fish | source
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
