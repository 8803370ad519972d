"""Read what a git command runs: the command below its global options, aliases, and programs that settings name."""

from __future__ import annotations

import itertools
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from scopes.check.shell_command import Setting
from scopes.check.shell_git_settings import Environment, option_settings
from scopes.check.shell_state import Word
from scopes.check.shell_wrappers import Step, is_abbreviation, join, program_of, split_options
from scopes.lazy_patterns import compile_lazily

_VALUED: Final = ("--git-dir", "--work-tree", "--namespace", "--exec-path", "--super-prefix", "--config-env")
_PROGRAM_KEY: Final = compile_lazily(
    r"core\.(?:pager|editor|sshcommand|fsmonitor|gitproxy|askpass|alternaterefscommand)|pager\..+|sequence\.editor"
    r"|diff\.external|diff\..+\.(?:command|textconv)|merge\..+\.driver|filter\..+\.(?:clean|smudge|process)"
    r"|(?:difftool|mergetool|man|browser)\..+\.(?:cmd|path)|gpg\.(?:.+\.)?(?:program|defaultkeycommand)|credential\.(?:.+\.)?helper"
    r"|interactive\.difffilter|trailer\..+\.(?:command|cmd)|uploadpack\.packobjectshook|sendemail\..*cmd"
    r"|remote\..+\.(?:uploadpack|receivepack|vcs)|imap\.tunnel|tar\..+\.command|guitool\..+\.cmd|web\.browser"
)
_READ_KEY: Final = compile_lazily(
    r"include(?:if\..+)?\.path|protocol\.(?:ext\.)?allow|init\.templatedir|submodule\..+\.update"
)
_PROGRAM_VARIABLES: Final = frozenset(
    {"GIT_PAGER", "PAGER", "GIT_EDITOR", "EDITOR", "VISUAL", "GIT_SEQUENCE_EDITOR", "GIT_SSH_COMMAND", "GIT_SSH",
     "GIT_EXTERNAL_DIFF", "GIT_ASKPASS", "SSH_ASKPASS", "GIT_PROXY_COMMAND"}
)  # fmt: skip
_COMPUTED: Final = _PROGRAM_VARIABLES | {"GIT_CONFIG_PARAMETERS"}  # which must be known
_SETTING: Final = frozenset({"-c", "--config-env"})
_BOOLEANS: Final = frozenset({"", "true", "false", "1", "0", "yes", "no", "on", "off"})
_PLAIN: Final = compile_lazily(
    r"(?:\S*/)?(?:ssh|cat|less|more|most|vim?|nvim|nano|emacs|code|delta|bat|diff-so-fancy|diff-highlight|true|false|echo|:"
    r"|gpg2?|store|cache|manager(?:-core)?|osxkeychain|wincred|libsecret|gh auth git-credential|git-lfs)"
    r"(?:\s+[\w./=@:~%+,-]+)*"
)
_TUNNEL: Final = compile_lazily(
    r"(?i)proxycommand|localcommand|knownhostscommand|(?-i:\bssh\s(?:.*\s)?-\w*F\s*(?!/dev/null|none\b)\S)"
)
_EDITS_TODO: Final = compile_lazily(r"exec\b|\bx\s|\b(?:cp|mv|cat|tee|echo|printf|awk|perl|python[\d.]*)\b|>")
_TODO_EDITORS: Final = ("GIT_SEQUENCE_EDITOR", "GIT_EDITOR", "VISUAL", "EDITOR")
_CORRECTING: Final = frozenset({"", "0", "false", "no", "off", "never", "prompt", "show"})  # of help.autocorrect: ask
_CLONED_HOOKS: Final = compile_lazily(r"(?i)(?:-c|--config=)?core\.hookspath=.*")
_RUNNING: Final = {  # options whose value is a command, by verb
    "difftool": ("x", ("--extcmd",)),
    "mergetool": ("", ()),
    "grep": ("O", ("--open-files-in-pager",)),
    "clone": ("u", ("--upload-pack",)),
    "ls-remote": ("", ("--upload-pack", "--exec")),
    "fetch": ("", ("--upload-pack",)),
    "pull": ("", ("--upload-pack",)),
    "fetch-pack": ("", ("--upload-pack", "--exec")),
    "push": ("", ("--receive-pack", "--exec")),
    "send-pack": ("", ("--receive-pack", "--exec")),
    "archive": ("", ("--exec",)),
    "rebase": ("x", ("--exec",)),
    "filter-branch": (
        "",
        ("--env-filter", "--tree-filter", "--index-filter", "--msg-filter", "--commit-filter", "--tag-name-filter",
         "--parent-filter", "--setup"),
    ),
}  # fmt: skip
_GIT_CORE: Final = compile_lazily(r".*git-core/git-|\$__output_\d+__/git-|git-(?:push|send-pack|reset|clean|checkout)$")
_PACKS: Final = compile_lazily(r"(?:\S*/)?git[- ](?:upload|receive)-(?:pack|archive)")
_OTHER_VALUED: Final = {"rebase": ("sXC", ("--onto", "--strategy"))}


def unwrap_git(words: tuple[Word, ...], environment: Environment = (), settings: Sequence[Setting] = ()) -> list[Step]:
    """Return what a git command runs, one layer below it; empty if it is the command itself."""
    options = split_options(words[1:], "Cc", _VALUED)
    inner = options.operands
    if options.given and inner:
        given = [(name, value) for name, value in options.given if name in _SETTING and value is not None]
        directories = [value for name, value in options.given if name in {"-C", "--work-tree"} and value is not None]
        wrapper = " ".join(("git", *(f"-c {value.text}" for _, value in given))) if given else ""
        repository = options.value(("--git-dir",))
        in_files = (each for each in settings if each.is_from_file)  # whose paths may be relative to this directory
        return [
            Step(
                wrapper,
                (Word("git", "git"), *inner),
                environment=() if repository is None else (("GIT_DIR", repository.value),),
                directory=_chained(directories),
                settings=(*in_files, *option_settings(given, environment)),
            )
        ]
    known = _effective(settings)
    alias = _alias_step(inner, known.get(f"alias.{inner[0].text.lower()}", ())) if inner else None
    if alias is not None:
        return [alias]
    steps = (*_programs_of(known), *_programs_of_variables(environment)) if inner else ()
    return [*_verb_steps(inner), *steps]


def unwrap_git_program(words: tuple[Word, ...]) -> list[Step]:
    """Return `git push` for `/usr/lib/git-core/git-push`; empty for other programs."""
    name = program_of(words)
    verb = name.removeprefix("git-")
    if verb == name or not re.fullmatch(r"[a-z][a-z-]*", verb) or not _GIT_CORE.match(words[0].text):
        return []
    return [Step(name, (Word("git", "git"), Word(verb, verb), *words[1:]))]


def _find_opaque_setting(settings: Sequence[Setting], environment: Environment) -> str | None:
    """Return why a setting of git, or a variable that names a program, cannot be read."""
    for key, value, _ in settings:
        if _READ_KEY.fullmatch(key):
            return f"git runs with the setting {key}"
        if value is None and (_PROGRAM_KEY.fullmatch(key) or key.startswith("alias.")):
            return f"the program in the setting {key} is computed by the shell"
        if key == "help.autocorrect" and (value or "").lower() not in _CORRECTING:
            return "git may run another verb than the one that is given"
    for name, value in dict(environment).items():
        if value is None and (name in _COMPUTED or name.startswith("GIT_CONFIG_KEY_")):
            return f"the value of {name} is computed by the shell"
    return None


def find_opaque_git(words: tuple[Word, ...], settings: Sequence[Setting], environment: Environment) -> str | None:
    """Return why a git command cannot be read completely; None if it can."""
    verb = words[1].text if len(words) > 1 else ""
    reason = _find_opaque_setting(settings, environment)
    if verb == "clone" and any(_CLONED_HOOKS.fullmatch(word.text) for word in words[2:]):
        reason = reason or "git clone may run hooks of another directory"
    if verb == "rebase" and _edits_todo(settings, environment):
        reason = reason or "git rebase runs commands that an editor puts into its list"
    if reason is not None:
        return reason
    if verb == "config":
        return _configured(words[2:])
    if verb in {"checkout", "restore", "reset", "rm"} and any(
        word.text.startswith("--pathspec-from") for word in words[2:]
    ):
        return f"git {verb} reads its paths from a file"
    if any(word.text.startswith("ext::") for word in words[2:]):
        return "git runs the command of an ext:: address"
    return None


def _edits_todo(settings: Sequence[Setting], environment: Environment) -> bool:
    """Return True if an editor, or the format of its lines, may put commands into the list of a rebase."""
    known, variables = _effective(settings), dict(environment)
    if any("%n" in each or _EDITS_TODO.search(each) for each in known.get("rebase.instructionformat", ())):
        return True
    editors = [*known.get("sequence.editor", ()), *(variables.get(name) or "" for name in _TODO_EDITORS)]
    return any(_EDITS_TODO.search(each) and not _PLAIN.fullmatch(each) for each in editors)


def _configured(words: tuple[Word, ...]) -> str | None:
    """Return why a git config command is unread: it stores a command that git runs later."""
    operands = split_options(words, "f", ("--file", "--blob", "--type", "--default", "--comment", "--value")).operands
    if operands and operands[0].text in {"set", "add"}:
        operands = split_options(operands[1:], "f", ("--file", "--value", "--comment")).operands
    if len(operands) < 2:
        return None
    key, value = operands[0].text.lower(), operands[1]
    if key.startswith("alias."):
        return "git config defines an alias"
    is_program = _PROGRAM_KEY.fullmatch(key) and not _is_plain(key, value.value)
    return f"git config stores a program in {key}" if is_program or _READ_KEY.fullmatch(key) else None


def _effective(settings: Sequence[Setting]) -> Mapping[str, list[str]]:
    """Return the known values by key; an empty value takes back those before it."""
    values: dict[str, list[str]] = {}
    for key, value, _ in settings:
        if value:
            values.setdefault(key, []).append(value)
        elif value == "":
            values.pop(key, None)
    return values


def _is_plain(key: str, value: str | None) -> bool:
    """Return True if a setting names no program, or one that is known to run no other."""
    if value is None or (value in _BOOLEANS and key.startswith(("pager.", "core.fsmonitor", "core.pager"))):
        return value is not None
    return not value or (_PLAIN.fullmatch(value) is not None and not _TUNNEL.search(value))


def _programs_of(settings: Mapping[str, Sequence[str]]) -> Iterator[Step]:
    """Yield the scripts that settings make git run."""
    for key, values in settings.items():
        for value in values if _PROGRAM_KEY.fullmatch(key) else ():
            is_helper = ".helper" in key and not value.startswith(("!", "/"))
            if not is_helper and not _is_plain(key, value):
                text = value.removeprefix("!")
                yield Step(f"git -c {key}", script=Word(text, text), kept=True, settings=(Setting(key, ""),))


def _programs_of_variables(environment: Environment) -> Iterator[Step]:
    """Yield the scripts that variables make git run."""
    for name, value in dict(environment).items():
        if name in _PROGRAM_VARIABLES and value and not _is_plain("", value):
            yield Step(name, script=Word(value, value), environment=((name, ""),), kept=True)


def _alias_step(inner: tuple[Word, ...], values: Sequence[str]) -> Step | None:
    """Return what an alias runs that the run itself defines; None if the verb is none.

    Git takes the last value: of a file that was written several times, the others may be in it no more.
    """
    value = values[-1] if values else ""
    if not value:
        return None
    if value.startswith("!"):
        return Step("git alias", script=join((Word(value[1:], value[1:]), *inner[1:])))
    try:
        pieces = shlex.split(value)
    except ValueError:
        pieces = value.split()
    if pieces[:1] == [inner[0].text]:
        return None
    return Step("git alias", (Word("git", "git"), *(Word(each, each) for each in pieces), *inner[1:]))


def _verb_steps(inner: tuple[Word, ...]) -> list[Step]:
    """Return the commands that arguments of a verb name."""
    verb = inner[0].text if inner else ""
    if verb == "submodule" and len(inner) > 2 and inner[1].text == "foreach":
        rest = split_options(inner[2:], "").operands
        return [Step("git submodule foreach", script=join(rest), kept=True)] if rest else []
    if verb == "bisect" and len(inner) > 2 and inner[1].text == "run":
        return [Step("git bisect run", inner[2:], kept=True)]
    steps = list(_programs_of(_effective(_cloned_settings(inner)))) if verb == "clone" else []
    if verb not in _RUNNING:
        return []
    letters, long = _RUNNING[verb]
    more, more_long = _OTHER_VALUED.get(verb, ("", ()))
    rest = inner[1:]
    while rest:
        options = split_options(rest, letters + more, (*long, *more_long))
        for name, value in options.given:
            is_script = (name[1:] in letters and len(name) == 2) or any(is_abbreviation(name, each) for each in long)
            if is_script and value is not None and value.text and not _PACKS.fullmatch(value.text):
                shown = long[letters.index(name[1:])] if name[1:] in letters else name
                steps.append(Step(f"git {verb} {shown}", script=value, kept=True))
        rest = options.operands[1:]
    return steps


def _cloned_settings(inner: tuple[Word, ...]) -> list[Setting]:
    """Return the settings of `git clone -c NAME=VALUE`, which hold for the clone."""
    found = []
    for before, word in itertools.pairwise(inner):
        text = word.text if before.text in {"-c", "--config"} else word.text.removeprefix("--config=")
        name, equals, value = text.partition("=")
        if equals and (text != word.text or before.text in {"-c", "--config"}):
            found.append(Setting(name.lower(), value))
    return found


def _chained(directories: list[Word]) -> Word | None:
    """Return the directory that several `-C` lead to, each relative to the one before."""
    path: Word | None = None
    for word in directories:
        text = word.text if path is None or word.text.startswith(("/", "~", "$")) else f"{path.text}/{word.text}"
        path = Word(None if word.value is None else text, text)
    return path
