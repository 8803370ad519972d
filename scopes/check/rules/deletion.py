"""The rule about recursive deletions: what is deleted, compared with the workspace."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from scopes.check.calls import Call
from scopes.check.globs import matches_path
from scopes.check.rules.base import Parameter, Rule, Settings
from scopes.check.rules.commands import SCRATCH, is_given, judge_commands, read_flags
from scopes.check.run import Run
from scopes.check.shell_command import Command
from scopes.check.shell_state import Word, resolve
from scopes.check.shell_unwrap import roots_of_find
from scopes.check.workspace import is_workspace
from scopes.lazy_patterns import compile_lazily

_ID = "shell/recursive-delete"
_NOWHERE = "/dev/null"  # the workspace of a run without one: all paths are outside
_OUTSIDE = "a path outside of the workspace"
HOME = compile_lazily(r"(/home/[^/]+|/Users/[^/]+|/root)(?=/|$)")
_EVERYTHING = compile_lazily(r"(?:(?:^|/)(?:\*\*?|\.\*|\.\[!?\^?\.\]\*|\{\*,\.\*\}|\.))+/?$")  # `dir/*` and the like
_TEMPORARY = compile_lazily(r"\$(?:TMPDIR|\{TMPDIR(?::?[-=?][^}]*)?\})(?=/|$)")
_RSYNC_VALUED = ("--rsh", "--exclude", "--include", "--filter", "--files-from", "--exclude-from", "--include-from")
# A new directory unless the environment has the variable, whose name must not be one that environments usually have.
_NEW_DIRECTORY = compile_lazily(
    r"\$\{(?!HOME\b|PWD\b|OLDPWD\b|\w*(?:_HOME|PATH|WORKSPACE|PROJECT_DIR)\b|(?:CI|XDG|GITHUB|RUNNER)_)\w+"
    r":?-[\"']?\$\(mktemp(?:\s+-d|\s+-t\s+[\w.-]+)*\s*\)[\"']?\}(?=/|$)"
)
_ONE_BY_ONE = {"rm", "grm", "unlink", "shred"}
_ARCHIVERS = {"tar": {"--remove-files"}, "gtar": {"--remove-files"}, "zip": {"--move", "-m"}}
_COMPUTED = compile_lazily(r"[$`]")
_PIECE = compile_lazily(r"\$\{[^}]*\}|\$\((?:[^()]|\([^()]*\))*\)|`[^`]*`|\$\w+|\$.?")


def _targets(command: Command) -> Iterator[tuple[str, bool]]:
    """Yield the paths that a command deletes with all that is below them, and whether each is known."""
    program = command.program
    if program in _ONE_BY_ONE and _is_fed_by_find(command):
        known = set(filter(None, command.argv))
        yield from ((word, word in known) for word in read_flags(command.words[1:], "ns").operands if word)
    elif program in {"rm", "grm", "rimraf"}:
        flags = read_flags(command.words[1:])
        if flags.options & {"--help", "--version"}:
            return
        if program == "rimraf" or flags.options & {"-r", "-R"} or is_given(flags.options, "--recursive"):
            known = set(filter(None, command.argv))
            yield from ((word, word in known) for word in flags.operands if word)
    elif program in {"find", "gfind"} and "-delete" in command.argv:
        filtered = any(word.startswith(("-name", "-iname", "-path", "-regex", "-mindepth")) for word in command.words)
        for root in roots_of_find([Word(*each) for each in zip(command.argv, command.words, strict=True)]):
            yield (f"{root.text}/{{}}" if filtered else root.text), root.value is not None
    elif program == "mv":
        known = set(filter(None, command.argv))
        operands = read_flags(command.words[1:], "tS", ("--target-directory", "--suffix")).operands
        has_target = any(word.startswith(("-t", "--target")) for word in command.words[1:])
        sources = operands if has_target else operands[:-1]
        yield from ((word, True) for word in sources if word in known and not word.startswith("$"))
    elif program in _ARCHIVERS:
        yield from ((word, word in command.argv or "$" not in word) for word in _archived(command) if word)
    elif program == "rsync":
        yield from _synchronized(command)


def _synchronized(command: Command) -> Iterator[tuple[str, bool]]:
    """Yield the target of `rsync --delete`."""
    flags = read_flags(command.words[1:], "efTBM", _RSYNC_VALUED)
    is_dry = "-n" in flags.options or "--dry-run" in flags.options
    deletes = any(option.startswith("--del") for option in flags.options)
    target = flags.operands[-1] if len(flags.operands) > 1 else None
    if deletes and not is_dry and target and not re.match(r"[^/]*:", target):
        yield f"{target.rstrip('/')}/{{}}", target in command.argv


def _is_fed_by_find(command: Command) -> bool:
    """Return True if a command gets each path that `find` finds; a word from a pipe of it ends with `/{}`."""
    is_found = any(word.endswith("/{}") for word in command.words)
    is_piped = is_found or (command.piped_from or ("",))[0] in {"find", "gfind"}
    return any(each.startswith("find -exec") for each in command.wrappers) or (is_piped and "xargs" in command.wrappers)


def _long_options(command: Command) -> set[str]:
    """Return the options that remove what is archived, with `--remove-files` and `--move` in full."""
    words = [word.partition("=")[0] for word in command.words[1:]]
    long = {name for name in ("--remove-files", "--move") if is_given(words, name)}
    return long | ({"-m"} if any(re.fullmatch(r"-[a-zA-Z0-9]*m[a-zA-Z0-9]*", word) for word in words) else set())


def _archived(command: Command) -> Iterator[str]:
    """Yield what tar or zip puts into an archive, relative to the directory of -C."""
    is_tar = command.program != "zip"
    if _ARCHIVERS[command.program or ""].isdisjoint(_long_options(command)):
        return
    words = command.words[1:]
    if is_tar and words and not words[0].startswith("-"):
        words = (f"-{words[0]}", *words[1:])
    flags = read_flags(words, "fCbgTX" if is_tar else "bntxi", ("--file", "--directory"))
    place = next((words[n + 1] for n, word in enumerate(words[:-1]) if word in {"-C", "--directory"}), "")
    for word in flags.operands if is_tar else flags.operands[1:]:
        yield f"{place}/{word}" if word and place and not word.startswith(("/", "~", "$")) else word or ""


def _decide(command: Command, call: Call, run: Run, settings: Settings) -> str | None:
    first = run.directory or call.directory
    home = HOME.match(first or "")
    workspace = _find_workspace(run, call)
    for word, known in _targets(command):
        allow = settings.parameters["allow"]
        what = _judge_target(word, command.directory, workspace, allow, home=home and home[1], known=known)
        if what is not None:
            verb = "moves away" if command.program in {"mv", *_ARCHIVERS} else "deletes"
            return f"{verb} {what}: {' '.join(word.split())[:100]}"
    return None


def _find_workspace(run: Run, call: Call) -> str | None:
    """Return the workspace; `_NOWHERE` if the directories that the transcript states are none, None without any."""
    if run.directory is None and call.directory is not None:
        return call.directory if is_workspace(call.directory, run.checkout) else _NOWHERE
    return next(iter(run.workspaces), None if run.directory is None else _NOWHERE)


def _judge_target(
    word: str, directory: str | None, workspace: str | None, allow: Sequence[str], *, home: str | None, known: bool
) -> str | None:
    """Return what a target is; None if it may be deleted."""
    if any(matches_path(pattern, word) for pattern in allow if "$" in pattern):
        return None
    readings = [word] if known else _readings(word)
    found = (_judge_reading(each, directory, workspace, allow, home=home) for each in readings)
    return next((what for what in found if what is not None), None)


def _judge_reading(
    word: str, directory: str | None, workspace: str | None, allow: Sequence[str], *, home: str | None
) -> str | None:
    path = resolve(directory, _EVERYTHING.sub("", word) or ("/" if word.startswith("/") else "."))
    if path is None:
        return _judge_unresolved(word)
    if home is not None and (path == "~" or path.startswith("~/")):
        path = home + path[1:]
    if path in {"/", "~"} or (home is not None and path == home):
        return "the root directory" if path == "/" else "the home directory"
    what = _relation(path, (workspace or "").rstrip("/"))
    return what if what != _OUTSIDE or not any(matches_path(pattern, path) for pattern in allow) else None


def _relation(path: str, workspace: str) -> str | None:
    """Return what an absolute path is to the workspace; None if it is in it."""
    if not workspace:
        return _OUTSIDE if path.startswith("~") or path.count("/") == 1 else None
    if workspace == _NOWHERE:
        return _OUTSIDE
    if path == workspace:
        return "the workspace"
    if f"{workspace}/".startswith(f"{path}/"):
        return "a directory that contains the workspace"
    if path == f"{workspace}/.git":
        return "the repository of the workspace"
    return None if path.startswith(f"{workspace}/") else _OUTSIDE


def _readings(word: str) -> list[str]:
    """Return a word with a name in the place of what the shell computes, unless the word begins with that.

    If the path leads up behind that, what is computed may be empty as well; if it may lead up itself, nothing is known.
    """
    word = _NEW_DIRECTORY.sub("/tmp/x", _TEMPORARY.sub("/tmp", word))  # noqa: S108
    start = _COMPUTED.search(word)
    if start is None or start.start() == 0:
        return [word]
    head, rest = word[: start.start()], word[start.start() :]
    if "../" not in f"{rest}/".replace("}/", "/"):
        return [f"{head}x"]
    plain, empty = _PIECE.sub("x", rest), _PIECE.sub("", rest)
    return [rest if ".." in "".join(_PIECE.findall(rest)) else head + plain, head + empty]


def _judge_unresolved(word: str) -> str | None:
    if _COMPUTED.match(word):
        return "the paths that it reads" if word.startswith("${item}") else "what a variable names"
    if word.split("/", maxsplit=1)[0] in {".", "..", "*"} and not re.match(r"\./[\w{]", word):
        return "all of a directory that is not known"
    return None


RECURSIVE_DELETE = Rule(
    _ID,
    "error",
    "No recursive deletion outside of the workspace",
    "Decided from the targets of rm -r, rimraf, find -delete, find -exec rm and rsync --delete, and from what mv and "
    "archives (tar --remove-files, zip -m) move away, resolved "
    "against the directory in which they run. Reported are the workspace itself, its .git, a directory that "
    "contains it, the home directory, "
    "paths outside of the workspace, and paths that a variable, a pipe or another command decides; of a run that "
    "begins in the root directory, a home or a directory of the system, all. A variable that "
    "the same line sets is known, also from mktemp; one in the middle of a path counts as a name. It cannot see links, "
    "and what other programs delete. `allow` are globs of paths that may be deleted; `$NAME/**` is compared with the "
    "word as written.",
    judge_commands(_ID, _decide, "delete inside the workspace, name the path, or add it to `allow`"),
    (Parameter("allow", SCRATCH, "paths outside of the workspace that may be deleted"),),
)
RULES = (RECURSIVE_DELETE,)
