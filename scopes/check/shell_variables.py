"""Find the variables that make a shell or a program run a text or a file which nobody reads."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from scopes.check.shell_state import State, Word
from scopes.lazy_patterns import compile_lazily

_CODE_VARIABLES: Final = compile_lazily(
    r"BASH_ENV|BASH_FUNC_.*|PROMPT_COMMAND|LD_PRELOAD|LD_AUDIT|DYLD_INSERT_LIBRARIES|PERL5OPT|RUBYOPT|MAKEFILES"
    r"|PYTHONSTARTUP|PYTHONHOME|LUA_INIT|R_PROFILE(?:_USER)?|ZDOTDIR|GIT_EXEC_PATH|GIT_TEMPLATE_DIR"
)
_PROGRAMS: Final = frozenset(
    {"LESSOPEN", "LESSCLOSE", "EXINIT", "VIMINIT", "GVIMINIT", "BROWSER", "SSH_ASKPASS", "SUDO_ASKPASS", "EDITOR",
     "VISUAL", "PAGER", "MANPAGER", "FCEDIT", "PSQL_EDITOR", "SYSTEMD_EDITOR", "npm_config_editor",
     "npm_config_script_shell", "npm_config_viewer", "npm_config_browser", "npm_config_node_options",
     "NPM_CONFIG_EDITOR", "NPM_CONFIG_SCRIPT_SHELL"}
)  # fmt: skip
_CALM_PROGRAM: Final = compile_lazily(
    r"(?:(?:\S*/)?(?:cat|less|more|most|vim?|nvim|nano|emacs|code|micro|hx|ed|true|false|echo|:|none|firefox|chromium|open"
    r"|google-chrome|xdg-open|wslview|w3m|lynx|bat|delta|sh|bash|(?:gnome-)?ssh-askpass)(?:\s+-[\w-]+)*)?"
)
_OPTIONS_OF_TAR: Final = compile_lazily(r"checkpoint-a|command|program|script|(?:^|\s)-?[a-zA-Z]*[IF]")
_OPTIONS_OF_MAKE: Final = compile_lazily(r"(?:^|\s)-?\w*[fE]|--(?:eval|file|makefile)|SHELL=")
_OPTIONS_OF_NODE: Final = compile_lazily(r"-r\b|--(?:require|import|loader|experimental-loader)\b|\$")
PROMPTS: Final = ("PS4", "PS0", "PS1", "PS2")  # a shell runs the substitutions in their values
_RUN_IN_PROMPT: Final = compile_lazily(r"\$\(|`")

_OPTIONS: Final = {  # variables with options of a program, and those that make it run something
    "NODE_OPTIONS": ("node", _OPTIONS_OF_NODE),
    "TAR_OPTIONS": ("tar", _OPTIONS_OF_TAR),
    "MAKEFLAGS": ("make", _OPTIONS_OF_MAKE),
    "GNUMAKEFLAGS": ("make", _OPTIONS_OF_MAKE),
}


def find_opaque_environment(environment: Iterable[tuple[str, str | None]]) -> str | None:
    """Return why the variables that a command gets make it run a text or a file that is not read; None if not."""
    reasons = (_reason_of(name, value) for name, value in environment)
    return next((each for each in reasons if each is not None), None)


def _reason_of(name: str, value: str | None) -> str | None:
    if _CODE_VARIABLES.fullmatch(name):
        return f"a program runs what {name} names" if value != "" else None
    if name in _PROGRAMS and not (value is not None and _CALM_PROGRAM.fullmatch(value)):
        return f"a program runs what {name} names"
    if name in PROMPTS:
        return f"a shell runs the substitutions in {name}" if _runs_as_prompt(value) else None
    program, options = _OPTIONS.get(name, ("", None))
    if options is not None and (value is None or options.search(value)):
        return f"{program} runs what {name} names"
    return None


def find_opaque_prompt(state: State) -> str | None:
    """Return why a shell runs the value of a prompt; None if it does not. What is returned once is forgotten."""
    for name in PROMPTS:
        value = state.variables.get(name)
        if isinstance(value, Word) and _runs_as_prompt(value.value):
            state.variables[name] = Word("", "")
            return f"the shell runs the substitutions in {name}"
    return None


def _runs_as_prompt(value: str | None) -> bool:
    """Return True if a shell may run a command in the value of a prompt."""
    return value is None or _RUN_IN_PROMPT.search(value) is not None
