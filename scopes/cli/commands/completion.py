"""`scopes completion SHELL`."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from scopes.cli.completion_scripts import print_script
from scopes.cli.invocation import Invocation
from scopes.cli.table import TABLE


def completion(
    context: typer.Context,
    shell: Annotated[
        Literal["bash", "zsh", "fish", "fzf", "fzf-fish"],
        typer.Argument(metavar="SHELL", help="The shell; or fzf (for bash and zsh), or fzf-fish"),
    ],
) -> int:
    """Print a completion script.

    It completes commands, options, conversations and branches. Packages install the scripts where the shell looks for
    them; if yours did not, load the script when the shell starts.

    fzf prints a function, scopes-fzf, instead: it chooses a conversation from scopes list with fzf, with scopes show as
    the preview. It takes the options of scopes list. On a terminal it shows the log of the chosen one; elsewhere it
    prints its name.

    Examples:
      eval "$(scopes completion bash)"        # in ~/.bashrc
      eval "$(scopes completion zsh)"         # in ~/.zshrc, after compinit
      scopes completion fish | source         # in ~/.config/fish/config.fish
      eval "$(scopes completion fzf)"         # in ~/.bashrc or ~/.zshrc; then: scopes-fzf --project .
    """
    invocation: Invocation = context.obj
    return print_script(TABLE, [shell], invocation)
