"""`scopes completion SHELL`."""

from __future__ import annotations

from typing import Annotated, Literal

from scopes.cli import usage
from scopes.cli.completion_scripts import print_script
from scopes.cli.invocation import Invocation
from scopes.cli.table import TABLE


def completion(
    context: usage.Context,
    shell: Annotated[Literal["bash", "zsh", "fish"], usage.Argument(metavar="SHELL", help="The shell")],
) -> int:
    """Print a completion script for a shell.

    It completes commands, options, conversations and branches. Packages install the scripts where the shell looks for
    them; if yours did not, load the script when the shell starts.

    Examples:
      eval "$(scopes completion bash)"        # in ~/.bashrc
      eval "$(scopes completion zsh)"         # in ~/.zshrc, after compinit
      scopes completion fish | source         # in ~/.config/fish/config.fish
    """
    invocation: Invocation = context.obj
    return print_script(TABLE, [shell], invocation)
