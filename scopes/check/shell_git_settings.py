"""Settings of git that apply to a command: of `-c`, `--config-env`, GIT_CONFIG variables, and written files."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from typing import Final

from scopes.check.shell_command import Setting
from scopes.check.shell_files import Files
from scopes.check.shell_state import Word, resolve
from scopes.check.shell_wrappers import split_options
from scopes.lazy_patterns import compile_lazily

Environment = Sequence[tuple[str, str | None]]

_SECTION: Final = compile_lazily(r'\s*\[\s*([\w.-]+)(?:\s+"((?:[^"\\\n]|\\.)*)")?\s*\]')
_ENTRY: Final = compile_lazily(r"[ \t]*([A-Za-z][A-Za-z0-9-]*)[ \t]*(=?)")
_BLANK: Final = compile_lazily(r"\s+|[#;][^\n]*")
_ESCAPES: Final = {"n": "\n", "t": "\t", "b": "\b", "\\": "\\", '"': '"'}
_CONFIG_NAMES: Final = (".gitconfig", "config", "config.worktree", "gitconfig")
_CONFIG: Final = compile_lazily(r"(?:.*/)?(?:\.gitconfig|\.?git/(?:.+/)?config(?:\.worktree)?|etc/gitconfig)")
_VARIABLES: Final = frozenset({"GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG"})
_HARMLESS_KEY: Final = compile_lazily(
    r"(?:user|color|column|advice|log|format|status|rerere|fetch|gui|help|i18n|blame|apply|am|tag|branch|rebase|pull"
    r"|commit|merge|diff|init|submodule|feature|index|pack|gc|extensions|safe|push|core|http|url|gpg|receive|transfer)\.[\w-]+"
)
_HARMFUL_KEY: Final = compile_lazily(
    r"core\.(?:pager|editor|sshcommand|fsmonitor|gitproxy|askpass|alternaterefscommand|hookspath|worktree)"
    r"|diff\.external|gpg\.program|commit\.template|init\.templatedir"
)
_VALUED: Final = ("--file", "--blob", "--type", "--default", "--comment", "--value")
_READING: Final = frozenset({"get", "list", "unset", "edit", "remove-section"})


def parse_settings(text: str) -> Iterator[tuple[str, str]]:
    """Yield the keys, with section and name in lower case, and the values of a configuration of git.

    Stop where git would refuse the file.
    """
    section, position = "", 0
    while position < len(text):
        if match := _BLANK.match(text, position):
            position = match.end()
        elif match := _SECTION.match(text, position):
            name = match[2] and re.sub(r"\\(.)", r"\1", match[2])
            section, position = f"{match[1].lower()}.{name}" if match[2] is not None else match[1].lower(), match.end()
        elif match := _ENTRY.match(text, position):
            key = f"{section}.{match[1].lower()}" if section else match[1].lower()
            found = _value(text, match.end()) if match[2] else ("true", match.end())
            if found is None:
                return
            value, position = found
            yield key, value
        else:
            return


def _value(text: str, position: int) -> tuple[str, int] | None:
    """Return a value and where it ends; None if a quote or an escape is wrong."""
    value, kept, is_quoted = "", 0, False
    while position < len(text) and (text[position] != "\n"):
        char = text[position]
        position += 1
        if char == "\\":
            following = text[position : position + 1]
            position += 1
            if following in {"\n", ""}:
                continue
            if following not in _ESCAPES:
                return None
            value += _ESCAPES[following]
            kept = len(value)
        elif char == '"':
            is_quoted = not is_quoted
            kept = len(value)
        elif char in "#;" and not is_quoted:
            end = text.find("\n", position)
            position = len(text) if end < 0 else end
        elif value or is_quoted or not char.isspace():
            value += char
            kept = len(value) if is_quoted or not char.isspace() else kept
    return None if is_quoted else (value[:kept], position)


def note_settings(words: tuple[Word, ...], files: Files) -> None:
    """Remember what `git config` sets, whichever file it writes."""
    operands = split_options(words[2:], "f", _VALUED).operands
    given = [word.text for word in words[2:] if word.text.startswith("--")]
    options = {text[2:].partition("=")[0].removesuffix("-all") for text in given}
    if "rename-section" in options or (operands and operands[0].text == "rename-section"):
        files.has_unread_settings = True
        return
    if operands and operands[0].text in {"set", "add"}:
        operands = split_options(operands[1:], "f", ("--file", "--value", "--comment")).operands
    elif (operands and operands[0].text in _READING) or options & _READING:
        return
    if len(operands) > 1 and _is_kept(key := _lowered(operands[0].text)):
        files.keep_setting(key, operands[1].value)


def find_settings(
    files: Files, directory: str | None, environment: Environment
) -> tuple[tuple[Setting, ...], str | None]:
    """Return the settings of files that were written, and of variables; and why others are not known, None if all are.

    environment: the variables of the command
    """
    if not (environment or files.written or files.settings or files.is_full or files.has_unread_settings):
        return (), None
    pairs = list(files.settings)
    reason = "git reads settings that were changed" if files.has_unread_settings else None
    for path in _read_files(files, directory, environment):
        written = files.find(path)
        if written is None:
            reason = "git reads its settings from a file that a variable names"
            continue
        if written.is_unread:
            reason = "git reads settings that were changed"
        pairs += [pair for text in written.texts for pair in parse_settings(text) if _is_kept(pair[0])]
    in_files = (Setting(key.lower(), value, is_from_file=True) for key, value in dict.fromkeys(pairs))
    return (*in_files, *_variable_settings(dict(environment))), reason


def _variable_settings(variables: dict[str, str | None]) -> Iterator[Setting]:
    """Yield the settings of GIT_CONFIG_KEY and GIT_CONFIG_VALUE, then those of GIT_CONFIG_PARAMETERS, as git does."""
    for name, key in variables.items():
        if name.startswith("GIT_CONFIG_KEY_") and key is not None:
            yield Setting(key.lower(), variables.get(name.replace("_KEY_", "_VALUE_")))
    try:
        texts = shlex.split(variables.get("GIT_CONFIG_PARAMETERS") or "")
    except ValueError:  # git refuses it
        return
    for text in texts:
        key, equals, value = text.partition("=")
        yield Setting(key.lower(), value if equals else "true")


def option_settings(given: Sequence[tuple[str, Word]], environment: Environment) -> tuple[Setting, ...]:
    """Return the settings of options: `-c KEY=VALUE`, `-c KEY` and `--config-env KEY=VARIABLE`."""
    settings = []
    for name, word in given:
        key, equals, value = word.text.partition("=")
        known: str | None = value if equals else "true"
        if word.value is None:
            known = None
        elif name == "--config-env":
            known = dict(environment).get(value)
        settings.append(Setting(key.lower(), known))
    return tuple(settings)


def _read_files(files: Files, directory: str | None, environment: Environment) -> Iterator[str]:
    """Yield the files of settings that git reads and that were written, or that a variable names."""
    for name, value in dict(environment).items():
        if name in _VARIABLES and value not in {"", "/dev/null"}:
            yield resolve(directory, value) or "?"
    variables = dict(environment)
    own = {resolve(directory, f"{place}/config") for place in (".", variables.get("GIT_DIR")) if place}
    home = variables.get("HOME")
    own |= {resolve(directory, f"{home}/.gitconfig")} if home else set()
    for name in _CONFIG_NAMES:
        for path in files.find_name(name):
            if path in own or _CONFIG.fullmatch(path):
                yield path


def _is_kept(key: str) -> bool:
    return _HARMFUL_KEY.fullmatch(key.lower()) is not None or _HARMLESS_KEY.fullmatch(key.lower()) is None


def _lowered(key: str) -> str:
    """Return a key with section and name in lower case; a subsection keeps its case."""
    section, dot, rest = key.partition(".")
    subsection, last, name = rest.rpartition(".")
    return f"{section.lower()}{dot}{subsection}{last}{name.lower()}"
