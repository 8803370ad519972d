"""Read what a git command runs: the command below its global options, aliases, and programs that settings name.

Settings count where one command line gives them: `-c KEY=VALUE`, `--config-env`, and variables such as GIT_PAGER.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from scopes.check.shell_state import Word
from scopes.check.shell_wrappers import Step, join, program_of, split_options
from scopes.lazy_patterns import compile_lazily
from scopes.loading import load

Environment = Sequence[tuple[str, str | None]]

_VALUED: Final = ("--git-dir", "--work-tree", "--namespace", "--exec-path", "--super-prefix", "--config-env")
_PROGRAM_KEY: Final = compile_lazily(
    r"core\.(?:pager|editor|sshcommand|fsmonitor|gitproxy|askpass|alternaterefscommand)|pager\..+|sequence\.editor"
    r"|diff\.external|diff\..+\.(?:command|textconv)|merge\..+\.driver|filter\..+\.(?:clean|smudge|process)"
    r"|(?:difftool|mergetool|man|browser)\..+\.(?:cmd|path)|gpg\.(?:.+\.)?program|credential\.(?:.+\.)?helper"
    r"|interactive\.difffilter|trailer\..+\.(?:command|cmd)|uploadpack\.packobjectshook|sendemail\..*cmd"
    r"|remote\..+\.(?:uploadpack|receivepack|vcs)|imap\.tunnel"
)
_READ_KEY: Final = compile_lazily(r"include(?:if\..+)?\.path|protocol\.(?:ext\.)?allow")
_PROGRAM_VARIABLES: Final = frozenset(
    {"GIT_PAGER", "PAGER", "GIT_EDITOR", "EDITOR", "VISUAL", "GIT_SEQUENCE_EDITOR", "GIT_SSH_COMMAND", "GIT_SSH",
     "GIT_EXTERNAL_DIFF", "GIT_ASKPASS", "SSH_ASKPASS", "GIT_PROXY_COMMAND"}
)  # fmt: skip
_BOOLEANS: Final = frozenset({"", "true", "false", "1", "0", "yes", "no", "on", "off"})
_PLAIN: Final = compile_lazily(
    r"(?:\S*/)?(?:ssh|cat|less|more|most|vim?|nvim|nano|emacs|code|delta|bat|diff-so-fancy|diff-highlight|true|false|echo|:"
    r"|gpg2?|store|cache|manager(?:-core)?|osxkeychain|wincred|libsecret|gh auth git-credential|git-lfs)"
    r"(?:\s+[\w./=@:~%+,-]+)*"
)
_TUNNEL: Final = compile_lazily(r"(?i)proxycommand|localcommand|knownhostscommand")
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


def unwrap_git(words: tuple[Word, ...], environment: Environment = ()) -> list[Step]:
    """Return what a git command runs, one layer below it; empty if it is the command itself."""
    options = split_options(words[1:], "Cc", _VALUED)
    git, inner = Word("git", "git"), options.operands
    settings = [(name, value) for name, value in options.given if name in {"-c", "--config-env"} and value is not None]
    pairs = [*_pairs_of(settings, environment)]
    if options.given and inner:
        directories = [value for name, value in options.given if name in {"-C", "--work-tree"} and value is not None]
        wrapper = " ".join(("git", *(f"-c {value.text}" for _, value in settings))) if settings else ""
        steps = [*_programs_of(pairs)]
        alias = _alias_step(wrapper, inner, pairs, [value for name, value in settings if name == "-c"])
        repository = options.value(("--git-dir",))
        variables = () if repository is None else (("GIT_DIR", repository.value),)
        own = alias or Step(wrapper, (git, *inner), environment=variables, directory=_chained(directories))
        return [*steps, own]
    if inner:
        own_alias = _alias_step("git", inner, pairs)
        if own_alias is not None:
            return [own_alias]
    return [*_verb_steps(inner), *(step._replace(kept=True) for step in _variables(pairs, environment))]


def unwrap_git_program(words: tuple[Word, ...]) -> list[Step]:
    """Return `git push` for `/usr/lib/git-core/git-push`; empty for other programs."""
    name = program_of(words)
    verb = name.removeprefix("git-")
    if verb == name or not re.fullmatch(r"[a-z][a-z-]*", verb) or not _GIT_CORE.match(words[0].text):
        return []
    return [Step(name, (Word("git", "git"), Word(verb, verb), *words[1:]))]


def find_unread_git(words: tuple[Word, ...], wrappers: Sequence[str], environment: Environment) -> str | None:
    """Return why a git command cannot be read completely; None if it can."""
    given = [text.removeprefix("-c ") for each in wrappers if each.startswith("git -c") for text in [each[4:]]]
    texts = [text for line in given for text in line.split(" -c ")]
    settings = [("-c", Word(None if "$" in text or "`" in text else text, text)) for text in texts]
    for key, value in _pairs_of(settings, environment):
        if _READ_KEY.fullmatch(key):
            return f"git runs with the setting {key}"
        if value is None and (_PROGRAM_KEY.fullmatch(key) or key.startswith("alias.")):
            return f"the program in the setting {key} is computed by the shell"
    verb = words[1].text if len(words) > 1 else ""
    if verb == "config":
        return _configured(words[2:])
    if verb in {"checkout", "restore", "reset", "rm"} and any(
        word.text.startswith("--pathspec-from") for word in words[2:]
    ):
        return f"git {verb} reads its paths from a file"
    if any(word.text.startswith("ext::") for word in words[2:]):
        return "git runs the command of an ext:: address"
    return None


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


def _pairs_of(settings: Sequence[tuple[str, Word]], environment: Environment) -> Iterator[tuple[str, str | None]]:
    """Yield the keys, in lower case, and values of settings; None for a value that is not known."""
    variables = dict(environment)
    for name, word in settings:
        key, equals, value = word.text.partition("=")
        known: str | None = value if equals else "true"
        if word.value is None:
            known = None
        elif name == "--config-env":
            known = variables.get(value)
        yield key.lower(), known
    for name, text in environment:
        number = name.removeprefix("GIT_CONFIG_KEY_")
        if number != name and text is not None:
            yield text.lower(), variables.get(f"GIT_CONFIG_VALUE_{number}")


def _is_plain(key: str, value: str | None) -> bool:
    """Return True if a setting names no program, or one that is known to run no other."""
    if value is None or (value in _BOOLEANS and key.startswith(("pager.", "core.fsmonitor", "core.pager"))):
        return value is not None
    return not value or (_PLAIN.fullmatch(value) is not None and not _TUNNEL.search(value))


def _programs_of(pairs: Sequence[tuple[str, str | None]]) -> Iterator[Step]:
    """Yield the scripts that settings make git run."""
    for key, value in pairs:
        if _PROGRAM_KEY.fullmatch(key) and value and not _is_plain(key, value):
            if ".helper" in key and not value.startswith("!") and not value.startswith("/"):
                continue
            text = value.removeprefix("!")
            yield Step(f"git -c {key}", script=Word(text, text))


def _variables(pairs: Sequence[tuple[str, str | None]], environment: Environment) -> Iterator[Step]:
    """Yield the scripts that variables make git run."""
    yield from _programs_of(pairs)
    for name, value in dict(environment).items():
        if name in _PROGRAM_VARIABLES and value and not _is_plain("", value):
            yield Step(name, script=Word(value, value), environment=((name, ""),))


def _alias_step(
    wrapper: str, inner: tuple[Word, ...], pairs: Sequence[tuple[str, str | None]], settings: Sequence[Word] = ()
) -> Step | None:
    """Return what an alias runs that the command line itself defines; None if the verb is none.

    `settings` are the values of `-c`, which also count for an alias of an alias.
    """
    value = next((value for key, value in reversed(pairs) if key == f"alias.{inner[0].text.lower()}"), None)
    if not value:
        return None
    if value.startswith("!"):
        return Step(f"{wrapper or 'git'} alias", script=join((Word(value[1:], value[1:]), *inner[1:])))
    try:
        pieces = load("shlex:split")(value)
    except ValueError:
        pieces = value.split()
    if pieces[:1] == [inner[0].text]:
        return None
    options = [word for value in settings for word in (Word("-c", "-c"), value)]
    verb = [Word(each, each) for each in pieces]
    return Step(f"{wrapper or 'git'} alias", (Word("git", "git"), *options, *verb, *inner[1:]))


def _verb_steps(inner: tuple[Word, ...]) -> list[Step]:
    """Return the commands that arguments of a verb name."""
    verb = inner[0].text if inner else ""
    if verb == "submodule" and len(inner) > 2 and inner[1].text == "foreach":
        rest = split_options(inner[2:], "").operands
        return [Step("git submodule foreach", script=join(rest), kept=True)] if rest else []
    if verb == "bisect" and len(inner) > 2 and inner[1].text == "run":
        return [Step("git bisect run", inner[2:], kept=True)]
    if verb not in _RUNNING:
        return []
    letters, long = _RUNNING[verb]
    more, more_long = _OTHER_VALUED.get(verb, ("", ()))
    steps = []
    rest = inner[1:]
    while rest:
        options = split_options(rest, letters + more, (*long, *more_long))
        for name, value in options.given:
            is_script = (name[1:] in letters and len(name) == 2) or _is_long(name, long)
            if is_script and value is not None and value.text and not _PACKS.fullmatch(value.text):
                shown = long[letters.index(name[1:])] if name[1:] in letters else name
                steps.append(Step(f"git {verb} {shown}", script=value, kept=True))
        rest = options.operands[1:]
    return steps


def _is_long(name: str, long: Sequence[str]) -> bool:
    """Return True if a long option, perhaps shortened, is one of some."""
    return len(name) > 4 and any(each.startswith(name) for each in long)


def _chained(directories: list[Word]) -> Word | None:
    """Return the directory that several `-C` lead to, each relative to the one before."""
    path: Word | None = None
    for word in directories:
        text = word.text if path is None or word.text.startswith(("/", "~", "$")) else f"{path.text}/{word.text}"
        path = Word(None if word.value is None else text, text)
    return path
