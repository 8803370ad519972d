"""Unwrap commands: what `xargs`, `find -exec`, `bash -c`, `eval` and git run, and what no reader of a shell can see."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from scopes.check.shell_state import Word
from scopes.check.shell_wrappers import SHELLS, Options, Step, join, program_of, split_options, unwrap_program

_ITEM: Final = Word(None, "${item}")
_FIND_TESTS: Final = re.compile(
    r"-(i?name|i?path|i?wholename|i?regex|mindepth|newer\w*|[acm](time|min)|size|empty|perm|user)"
)
_FIND_ACTIONS: Final = ("-exec", "-execdir", "-ok", "-okdir")
_XARGS: Final = ("--max-args", "--max-procs", "--replace", "--max-lines", "--max-chars", "--delimiter", "--arg-file")
_GIT_VALUED: Final = ("--git-dir", "--work-tree", "--namespace", "--exec-path", "--super-prefix", "--config-env")
_INLINE: Final = {  # interpreter: letters of options that take code, and long names
    "python": ("c", ()),
    "pypy": ("c", ()),
    "node": ("ep", ("--eval", "--print")),
    "nodejs": ("ep", ("--eval", "--print")),
    "bun": ("ep", ("--eval", "--print")),
    "tsx": ("ep", ("--eval", "--print")),
    "perl": ("eE", ()),
    "ruby": ("e", ()),
    "php": ("r", ()),
    "lua": ("e", ()),
    "Rscript": ("e", ()),
    "osascript": ("e", ()),
    "elixir": ("e", ("--eval",)),
    "julia": ("eE", ("--eval",)),
}
_STANDARD_INPUT: Final = frozenset({"/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"})
_ELSEWHERE: Final = {
    "ssh": "runs on another machine",
    "mosh": "runs on another machine",
    "pwsh": "is a command of PowerShell",
    "powershell": "is a command of PowerShell",
    "powershell.exe": "is a command of PowerShell",
    "pwsh.exe": "is a command of PowerShell",
    "cmd": "is a command of cmd.exe",
    "cmd.exe": "is a command of cmd.exe",
    "wsl": "runs in another system",
    "at": "runs later",
    "batch": "runs later",
    "crontab": "runs later",
    "alias": "defines an alias",
    "parallel": "runs commands that it makes",
    "expect": "is a program of expect",
}
_CONTAINERS: Final = {"docker", "podman", "nerdctl", "kubectl", "docker-compose", "vagrant", "lima", "limactl", "orb"}
_QUERIES: Final = {"crontab": ("-l",), "ssh": ("-G", "-V"), "parallel": ("--version",)}  # run no command
_TMUX: Final = {"send-keys", "send", "new-session", "new", "new-window"}


class Input(NamedTuple):
    """What a command reads on its standard input.

    argv: of the command in front of the pipe
    programs: all programs in front of the pipe
    script: the text, if it is known
    item: what each line stands for, such as a path below the start of `find`
    """

    argv: tuple[str | None, ...] | None = None
    programs: tuple[str, ...] = ()
    script: Word | None = None
    item: Word | None = None


class Unread(NamedTuple):
    """Why a command cannot be read, and the programs whose output it runs as code."""

    reason: str
    code_from: tuple[str, ...] = ()


def unwrap(words: tuple[Word, ...], given: Input | None) -> list[Step]:
    """Return what a command runs, one layer below it; empty if it is the command itself."""
    program = program_of(words)
    if program in SHELLS:
        return _unwrap_shell(program, words[1:], given)
    if program == "xargs":
        return _unwrap_xargs(words[1:], given)
    if program in _READERS:
        return _READERS[program](words)
    step = unwrap_program(words)
    return [] if step is None else [step]


def _unwrap_eval(words: tuple[Word, ...]) -> list[Step]:
    return [Step("eval", script=join(words[1:]))] if len(words) > 1 else []


def _unwrap_trap(words: tuple[Word, ...]) -> list[Step]:
    if len(words) > 1 and words[1].text == "--":
        words = (words[0], *words[2:])
    body = words[1:2] if len(words) > 2 and words[1].text not in {"", "-", "-l", "-p"} else ()
    return [Step("trap", script=word) for word in body]


def item_of(argv: tuple[Word, ...]) -> Word | None:
    """Return what a line of the output of `find` stands for; None for other programs."""
    return _item_of_find(argv) if program_of(argv) in {"find", "gfind"} else None


def find_unread(words: tuple[Word, ...], given: Input | None) -> Unread | None:
    """Return why a command cannot be read completely; None if it can."""
    if not words:
        return None
    program = program_of(words)
    if not program:
        return Unread("the program is computed by the shell", words[0].programs)
    if program in SHELLS:
        return _find_unread_shell(program, words[1:], given)
    if program in {"source", "."} and len(words) > 1:
        return Unread(f"{program} runs a file in this shell", words[1].programs)
    reason = _reason_elsewhere(program, words)
    return _find_unread_code(program, words[1:], given) if reason is None else Unread(reason)


def _reason_elsewhere(program: str, words: tuple[Word, ...]) -> str | None:
    if program in _ELSEWHERE:
        quiet = len(words) == 1 or (program in _QUERIES and words[1].text in _QUERIES[program])
        return None if quiet else f"{program} {_ELSEWHERE[program]}"
    if program in _CONTAINERS and {word.text for word in words[1:4]} & {"exec", "run", "ssh", "shell"}:
        return f"{program} runs it in another system"
    if program == "tmux" and {word.text for word in words[1:3]} & _TMUX:
        return "runs in tmux"
    return None


def _find_unread_code(program: str, words: tuple[Word, ...], given: Input | None) -> Unread | None:
    letters, long = _INLINE.get(program.rstrip("0123456789."), ("", ()))
    if not letters:
        is_eval = program == "deno" and words and words[0].text == "eval"
        return Unread("deno runs a text in another language") if is_eval else None
    valued = letters + {"python": "mWX", "node": "r"}.get(program.rstrip("0123456789."), "")
    options = split_options(words, valued, (*long, "--require", "--import"))
    names = [name for name, _ in options.given]
    module = names.index("-m") if "-m" in names else len(names)  # what follows is for the module
    if any(name in long or (len(name) == 2 and name[1] in letters) for name in names[:module]):
        return Unread(f"{program} runs a text in another language")
    if module < len(names) or (options.operands and options.operands[0].text not in {"-", *_STANDARD_INPUT}):
        return None
    if given is None or not (given.argv or given.script or given.programs):
        return None
    return Unread(f"{program} runs what it reads", given.programs)


def _shell_options(words: tuple[Word, ...]) -> Options:
    words = tuple(Word(word.value, "-" + word.text[1:]) if word.text.startswith("+") else word for word in words)
    options = split_options(words, "oO", ("--rcfile", "--init-file"))
    operands = options.operands
    if operands and operands[0].text == "-":  # the same as `--`
        operands = operands[1:]
    if operands and operands[0].text in _STANDARD_INPUT:
        return Options((*options.given, ("-s", None)), operands[1:])
    return Options(options.given, operands)


def _unwrap_shell(program: str, words: tuple[Word, ...], given: Input | None) -> list[Step]:
    options = _shell_options(words)
    operands = options.operands
    if options.has("c") or any(name == "--command" for name, _ in options.given):
        return [Step(f"{program} -c", script=operands[0], arguments=operands[1:])] if operands else []
    if (operands and not options.has("s")) or given is None or given.script is None:
        return []
    operator = "|" if given.argv is not None else "<<"
    return [Step(f"{operator} {program}", script=given.script, arguments=(Word(program, program), *operands))]


def _find_unread_shell(program: str, words: tuple[Word, ...], given: Input | None) -> Unread | None:
    options = _shell_options(words)
    if options.has("n"):  # only checks the syntax
        return None
    if options.operands and not options.has("s"):
        return Unread(f"{program} runs a file", options.operands[0].programs)
    if any(name in {"--version", "--help"} for name, _ in options.given):
        return None
    if given is None:
        return Unread(f"{program} reads its commands from elsewhere") if options.has("si") else None
    return Unread(f"{program} runs what it reads", given.programs)


def _unwrap_xargs(words: tuple[Word, ...], given: Input | None) -> list[Step]:
    options = split_options(words, "nPILsdEaJR", _XARGS)
    inner = options.operands
    if not inner:
        return []
    item = given.item if given is not None and given.item is not None else _ITEM
    token = options.value(("-I", "-J", "--replace"))
    text = given.script.value if given is not None and given.script is not None else None
    if token is not None and token.text:
        rows = [row.lstrip() for row in text.splitlines() if row.strip()][:100] if text is not None else []
        rounds = [Word(row, row) for row in rows] or [item]
        return [Step("xargs", tuple(_replaced(word, token.text, each) for word in inner)) for each in rounds]
    items = tuple(Word(each, each) for each in text.split()[:100]) if text is not None else (item,)
    return [Step("xargs", (*inner, *items))]


def _replaced(word: Word, token: str, item: Word) -> Word:
    if token not in word.text:
        return word
    text = word.text.replace(token, item.text)
    return Word(None if item.value is None or word.value is None else text, text)


def _item_of_find(words: tuple[Word, ...]) -> Word:
    """Return a word for each path that `find` finds: `START/{}`, or START if that can be found itself."""
    roots = []
    for word in words[1:]:
        if word.text in {"-H", "-L", "-P"}:
            continue
        if word.text.startswith(("-", "(", "!")):
            break
        roots.append(word)
    root = roots[0] if roots else Word(".", ".")
    if not any(_FIND_TESTS.fullmatch(word.text) for word in words):
        return root
    text = f"{root.text.rstrip('/')}/{{}}"
    return Word(None if root.value is None else text, text)


def _unwrap_find(words: tuple[Word, ...]) -> list[Step]:
    steps = []
    item, position = _item_of_find(words), 1
    while position < len(words):
        action = words[position].text
        position += 1
        if action not in _FIND_ACTIONS:
            continue
        end = position
        while (
            end < len(words) and words[end].text != ";" and not (words[end].text == "+" and words[end - 1].text == "{}")
        ):
            end += 1
        if end > position:
            inner = tuple(_replaced(word, "{}", item) for word in words[position:end])
            steps.append(Step(f"find {action}", inner, kept=True))
        position = end + 1
    return steps


def _unwrap_fd(words: tuple[Word, ...]) -> list[Step]:
    names = ("-x", "-X", "--exec", "--exec-batch")
    start = next((number for number, word in enumerate(words) if word.text in names), None)
    if start is None or start + 1 >= len(words):
        return []
    inner = words[start + 1 :]
    if not any("{}" in word.text for word in inner):
        inner = (*inner, Word("{}", "{}"))
    return [
        Step(f"fd {words[start].text}", tuple(_replaced(word, "{}", Word("./{}", "./{}")) for word in inner), kept=True)
    ]


def _unwrap_git(words: tuple[Word, ...]) -> list[Step]:
    options = split_options(words[1:], "Cc", _GIT_VALUED)
    git, inner = Word("git", "git"), options.operands
    if options.given and inner:
        directories = [value for name, value in options.given if name in {"-C", "--work-tree"} and value is not None]
        settings = [value for name, value in options.given if name in {"-c", "--config-env"} and value is not None]
        wrapper = " ".join(("git", *(f"-c {value.text}" for value in settings))) if settings else ""
        return [Step(wrapper, (git, *inner), directory=_chained(directories))]
    verb = inner[0].text if inner else ""
    if verb == "submodule" and len(inner) > 2 and inner[1].text == "foreach":
        rest = split_options(inner[2:], "").operands
        return [Step("git submodule foreach", script=join(rest), kept=True)] if rest else []
    if verb == "bisect" and len(inner) > 2 and inner[1].text == "run":
        return [Step("git bisect run", inner[2:], kept=True)]
    if verb == "rebase":
        given = split_options(inner[1:], "xsXC", ("--exec", "--onto", "--strategy")).given
        scripts = [value for name, value in given if name in {"-x", "--exec"} and value is not None]
        return [Step("git rebase --exec", script=script, kept=True) for script in scripts]
    return []


def _chained(directories: list[Word]) -> Word | None:
    """Return the directory that several `-C` lead to, each relative to the one before."""
    path: Word | None = None
    for word in directories:
        text = word.text if path is None or word.text.startswith(("/", "~", "$")) else f"{path.text}/{word.text}"
        path = Word(None if word.value is None else text, text)
    return path


_READERS: Final[Mapping[str, Callable[[tuple[Word, ...]], list[Step]]]] = {
    "eval": _unwrap_eval,
    "trap": _unwrap_trap,
    "find": _unwrap_find,
    "gfind": _unwrap_find,
    "fd": _unwrap_fd,
    "fdfind": _unwrap_fd,
    "git": _unwrap_git,
}
