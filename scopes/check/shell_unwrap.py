"""Unwrap commands: what `xargs`, `find -exec`, `bash -c`, `eval` and git run, and what no reader of a shell can see."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from scopes.check.harmless_code import is_harmless
from scopes.check.shell_command import Setting
from scopes.check.shell_git import find_opaque_git, unwrap_git, unwrap_git_program
from scopes.check.shell_git_settings import Environment
from scopes.check.shell_inline import find_opaque_inline, unwrap_inline
from scopes.check.shell_scripts import STANDARD_INPUT, Interpreted, interpreted, shell_options
from scopes.check.shell_state import Input, Word
from scopes.check.shell_wrappers import SHELLS, Step, join, program_of, split_options, unwrap_program
from scopes.lazy_patterns import compile_lazily

_ITEM: Final = Word(None, "${item}")
_FIND_TESTS: Final = compile_lazily(
    r"-(i?name|i?path|i?wholename|i?regex|mindepth|newer\w*|[acm](time|min)|size|empty|perm|user)"
)
_FIND_LEVEL: Final = compile_lazily(r"-O\d?")
_FIND_ACTIONS: Final = ("-exec", "-execdir", "-ok", "-okdir")
_XARGS: Final = ("--max-args", "--max-procs", "--max-chars", "--delimiter", "--arg-file", "--process-slot-var")
_XARGS_FLAGS: Final = ("--max-lines", "--replace", "--eof")  # with a value behind `=` only
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
    "ansible": "runs on other machines",
    "ansible-playbook": "runs on other machines",
    "salt": "runs on other machines",
    "pdsh": "runs on other machines",
    "flatpak-spawn": "runs in another system",
    "nixos-container": "runs in another system",
    "psexec": "runs on another machine",
    "runas": "runs as another user",
    "wine": "is a program of Windows",
    "bwrap": "runs in a sandbox",
    "firejail": "runs in a sandbox",
    "systemd-nspawn": "runs in another system",
    "qemu-system-x86_64": "runs another system",
}
_RUN: Final = (("exec",), ("run",), ("create",), ("ssh",), ("shell",), ("enter",), ("attach",), ("debug",))
_SYSTEMS: Final[Mapping[str, tuple[tuple[str, ...], ...]]] = {  # program: the verbs that run something elsewhere
    **dict.fromkeys(("docker", "podman", "nerdctl", "docker-compose", "podman-compose", "lima", "limactl"), _RUN),
    **dict.fromkeys(("vagrant", "orb", "ctr", "crictl", "toolbox", "distrobox", "multipass", "lxc", "incus"), _RUN),
    **dict.fromkeys(("kubectl", "oc", "k3s", "minikube", "devcontainer", "apptainer", "singularity"), _RUN),
    "virsh": (("console",), ("qemu-agent-command",), ("start",)),
    "aws": (("ssm", "start-session"), ("ssm", "send-command"), ("ecs", "execute-command"), ("ecs", "run-task")),
    "gcloud": (("compute", "ssh"), ("alpha", "compute", "ssh"), ("beta", "compute", "ssh"), ("cloud-shell", "ssh")),
    "az": (("vm", "run-command"), ("ssh",), ("container", "exec")),
    "fly": (("ssh",), ("console",), ("machine", "exec"), ("machine", "run")),
    "flyctl": (("ssh",), ("console",), ("machine", "exec")),
    "heroku": (("run",), ("ps:exec",), ("run:detached",)),
    "gh": (("codespace", "ssh"), ("cs", "ssh")),
    "machinectl": (("shell",), ("login",), ("start",)),
    "railway": (("ssh",), ("shell",)),
}
_QUERIES: Final = {"crontab": ("-l",), "ssh": ("-G", "-V"), "parallel": ("--version",)}  # run no command
_GROUPS: Final = frozenset({"container", "compose", "machine", "node"})  # words in front of a verb
_VERBS: Final = frozenset(
    {"run", "run-script", "exec", "test", "install", "add", "i", "ci", "dlx", "why", "info", "view", "help", "ls",
     "list", "start", "build", "ps", "logs", "images", "inspect", "remove", "uninstall", "update", "outdated", "audit",
     "init", "pack", "link", "config", "get", "version", "check", "clippy", "fmt", "doc", "login", "status", "diff",
     "apply", "describe", "top", "events", "cp", "pull"}
)  # fmt: skip
_MAX_OPTIONS: Final = 24  # words in front of a verb
_CODE_MODULES: Final = frozenset({"timeit", "pdb", "trace", "code", "cProfile", "profile"})
_PROMPTS: Final = frozenset({"code", "asyncio", "pdb", "IPython"})
_INTERACTIVE: Final = compile_lazily(r"-[bBdEhIOPqRsSuvVx]*i")
_LINES: Final = compile_lazily(r"-[0-9alswWFit]*[np]")  # of perl: it reads the files that its operands name
_FINDERS: Final = frozenset({"which", "command", "type", "realpath", "readlink", "pwd", "git", "dirname", "basename"})
_TMUX: Final = {
    *(
        "send-keys",
        "send",
        "new-session",
        "new",
        "new-window",
        "neww",
        "run-shell",
        "run",
        "if-shell",
        "if",
        "set-hook",
    ),
    *("split-window", "splitw", "respawn-pane", "respawnp", "respawn-window", "respawnw", "pipe-pane", "pipep", "-c"),
    *("source-file", "source", "display-popup", "popup", "bind-key", "bind"),
}


class Opaque(NamedTuple):
    """Why a command cannot be read, and the programs whose output it runs as code."""

    reason: str
    code_from: tuple[str, ...] = ()


def unwrap(
    words: tuple[Word, ...], given: Input | None, environment: Environment = (), settings: Sequence[Setting] = ()
) -> list[Step]:
    """Return what a command runs, one layer below it; empty if it is the command itself."""
    program = program_of(words)
    if program in SHELLS:
        return _unwrap_shell(program, words[1:], given)
    if program == "xargs":
        return _unwrap_xargs(words[1:], given)
    if program == "git":
        return unwrap_git(words, environment, settings)
    if program in _READERS:
        return _READERS[program](words)
    if steps := unwrap_git_program(words) or unwrap_inline(words, None if given is None else given.script):
        return steps
    return unwrap_program(words)


def _unwrap_eval(words: tuple[Word, ...]) -> list[Step]:
    texts = words[2:] if len(words) > 1 and words[1].value == "--" else words[1:]
    return [Step("eval", script=join(texts))] if texts else []


def _unwrap_trap(words: tuple[Word, ...]) -> list[Step]:
    if len(words) > 1 and words[1].text == "--":
        words = (words[0], *words[2:])
    body = words[1:2] if len(words) > 2 and words[1].text not in {"", "-", "-l", "-p"} else ()
    return [Step("trap", script=word) for word in body]


def item_of(argv: tuple[Word, ...]) -> Word | None:
    """Return what a line of the output of `find` stands for; None for other programs."""
    return _item_of_find(argv) if program_of(argv) in {"find", "gfind"} else None


def find_opaque_program(
    words: tuple[Word, ...],
    given: Input | None,
    settings: Sequence[Setting] = (),
    environment: Environment = (),
) -> Opaque | None:
    """Return why a command cannot be read completely; None if it can."""
    if not words:
        return None
    program = program_of(words)
    if not program:
        return Opaque("the program is computed by the shell", words[0].programs)
    if program in SHELLS:
        return _find_opaque_shell(program, words[1:], given)
    if program in {"source", "."} and len(words) > 1:
        return Opaque(f"{program} runs a file in this shell", words[1].programs)
    reason = find_opaque_git(words, settings, environment) if program == "git" else _reason_elsewhere(program, words)
    return _find_opaque_inline(words, given) if reason is None else Opaque(reason)


def _find_opaque_inline(words: tuple[Word, ...], given: Input | None) -> Opaque | None:
    is_fed = given is not None and bool(given.argv or given.script or given.programs)
    script = None if given is None else given.script
    reason, is_input = find_opaque_inline(words, script, is_fed=is_fed)
    if reason is not None:
        return Opaque(reason, given.programs if is_input and given is not None else ())
    return _find_opaque_code(program_of(words), words[1:], given)


def _reason_elsewhere(program: str, words: tuple[Word, ...]) -> str | None:
    if program in _ELSEWHERE:
        quiet = len(words) == 1 or (program in _QUERIES and words[1].text in _QUERIES[program])
        return None if quiet else f"{program} {_ELSEWHERE[program]}"
    if program in _SYSTEMS:
        verbs = _SYSTEMS[program]
        texts = tuple(word.text for word in words[1:])
        if any(suffix[: len(verb)] == verb for suffix in verb_candidates(texts) for verb in verbs):
            return f"{program} runs it in another system"
    if program == "tmux" and {word.text for word in words[1:]} & _TMUX:
        return "runs in tmux"
    return None


def verb_candidates(texts: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yield the words behind the options that a command has in front of its verb.

    Nobody knows here which options take a value: all ways to read them are tried, unless a value is a verb itself.
    """
    pending, seen = [0], set()
    while pending:
        position = pending.pop()
        if position in seen or position > _MAX_OPTIONS:
            continue
        seen.add(position)
        yield tuple(texts[position:])
        if position >= len(texts):
            continue
        text = texts[position]
        if text in _GROUPS or text.startswith(("-", "+")):
            pending.append(position + 1)
        if text.startswith("-") and "=" not in text and position + 1 < len(texts) and texts[position + 1] not in _VERBS:
            pending.append(position + 2)


def _find_opaque_code(program: str, words: tuple[Word, ...], given: Input | None) -> Opaque | None:
    language = program.rstrip("0123456789.")
    found = interpreted(program, (Word(program, program), *words))
    if found is None:
        is_eval = program == "deno" and words and words[0].text == "eval"
        return Opaque("deno runs a text in another language") if is_eval else None
    inline = Opaque(f"{program} runs a text in another language")
    if (more := _find_more_code(program, language, found, words, given)) is not None:
        return more
    if found.texts:
        is_known = all(each and each.value and is_harmless(language, each.value) for each in found.texts)
        return None if is_known else inline
    if found.module is not None:
        return inline if found.module.text in _CODE_MODULES and found.operands else None
    return _find_opaque_file(program, language, found.operands, given)


def _find_more_code(
    program: str, language: str, found: Interpreted, words: tuple[Word, ...], given: Input | None
) -> Opaque | None:
    """Return why an interpreter runs more than its program: a module in an address, its input, or a file name."""
    if any(each.text.startswith("data:") for each in found.loaded):
        return Opaque(f"{program} runs a text in another language")
    if language in {"python", "pypy"} and _is_fed(given) and _reads_more(found, words):
        return Opaque(f"{program} runs what it reads", given.programs if given is not None else ())
    if language == "perl" and any(map(_is_pipe, words)) and any(_LINES.match(word.text) for word in words):
        return Opaque("perl opens a file whose name is a command")
    return None


def _is_fed(given: Input | None) -> bool:
    return given is not None and bool(given.argv or given.script or given.programs)


def _reads_more(found: Interpreted, words: tuple[Word, ...]) -> bool:
    """Return True if python reads commands besides its program: with -i, and by modules that have a prompt."""
    is_prompt = found.module is not None and found.module.text in _PROMPTS
    own = words[: len(words) - len(found.operands)]
    return is_prompt or any(_INTERACTIVE.match(word.text) for word in own)


def _is_pipe(word: Word) -> bool:
    text = word.text.strip()
    return not text.startswith("-") and (text.startswith("|") or text.endswith("|"))


def _find_opaque_file(program: str, language: str, operands: tuple[Word, ...], given: Input | None) -> Opaque | None:
    """Return why the program that an interpreter reads from a file or a pipe is unread; None for files."""
    if operands and operands[0].text not in {"-", *STANDARD_INPUT}:
        programs = tuple(set(operands[0].programs) - _FINDERS)
        return Opaque(f"{program} runs what a program prints", programs) if programs else None
    if given is None or not (given.argv or given.script or given.programs):
        return None
    script = given.script.value if given.script is not None else None
    is_known = script is not None and is_harmless(language, script)
    return None if is_known else Opaque(f"{program} runs what it reads", given.programs)


def _unwrap_shell(program: str, words: tuple[Word, ...], given: Input | None) -> list[Step]:
    options = shell_options(words)
    operands = options.operands
    if options.has("c") or any(name == "--command" for name, _ in options.given):
        return [Step(f"{program} -c", script=operands[0], arguments=operands[1:])] if operands else []
    if (operands and not options.has("s")) or given is None or given.script is None:
        return []
    operator = "|" if given.argv is not None else "<<"
    return [Step(f"{operator} {program}", script=given.script, arguments=(Word(program, program), *operands))]


def _find_opaque_shell(program: str, words: tuple[Word, ...], given: Input | None) -> Opaque | None:
    options = shell_options(words)
    if options.has("n"):  # only checks the syntax
        return None
    if options.operands and not options.has("s"):
        return Opaque(f"{program} runs a file", options.operands[0].programs)
    if any(name in {"--version", "--help"} for name, _ in options.given):
        return None
    if given is None:
        return Opaque(f"{program} reads its commands from elsewhere") if options.has("si") else None
    return Opaque(f"{program} runs what it reads", given.programs)


def _unwrap_xargs(words: tuple[Word, ...], given: Input | None) -> list[Step]:
    options = split_options(words, "nPILsdEaJR", _XARGS, _XARGS_FLAGS)
    inner = options.operands
    if not inner:
        return []
    reads_file = options.value(("-a", "--arg-file")) is not None  # then xargs is a command that reads a file
    given = None if reads_file else given
    item = given.item if given is not None and given.item is not None else _ITEM
    token = options.value(("-I", "-J", "--replace"))
    if token is None and ({("--replace", None), ("-i", None)} & set(options.given)):
        token = Word("{}", "{}")
    is_null = options.has("0") or any(name == "--null" for name, _ in options.given)
    separator = "\0" if is_null else None if options.value(("-d", "--delimiter")) is not None else "\n"
    text = given.script.value if given is not None and given.script is not None else None
    if token is not None and token.text:
        lines = [] if text is None else text.splitlines() if separator == "\n" else _items_of(text, separator) or []
        rows = [row.lstrip() for row in lines if row.strip()][:100]
        rounds = [Word(row, row) for row in rows] or [item]
        return [
            Step("xargs", tuple(_replaced(word, token.text, each) for word in inner), kept=reads_file)
            for each in rounds
        ]
    pieces = None if text is None else _items_of(text, "" if separator == "\n" else separator)
    items = (item,) if pieces is None else tuple(Word(each, each) for each in pieces)
    return [Step("xargs", (*inner, *items), kept=reads_file)]


def _items_of(text: str, separator: str | None) -> list[str] | None:
    """Return the items that xargs reads: quotes count if there is no separator. None if it is not known."""
    if separator is None:
        return None
    try:
        pieces = text.split(separator) if separator else shlex.split(text)
    except ValueError:
        return None
    return [each for each in pieces if each][:100]


def _replaced(word: Word, token: str, item: Word) -> Word:
    if token not in word.text:
        return word
    text = word.text.replace(token, item.text)
    return Word(None if item.value is None or word.value is None else text, text)


def roots_of_find(words: Sequence[Word]) -> list[Word]:
    """Return the words behind `find` that say where it starts; `.` if there are none."""
    roots: list[Word] = []
    position = 1
    while position < len(words):
        text = words[position].text
        if text in {"-files0-from", "--files0-from"}:
            return [Word(None, "${item}")]
        if not roots and (
            text in {"-H", "-L", "-P", "-D", "-E", "-X", "-x", "-d", "-s"} or _FIND_LEVEL.fullmatch(text)
        ):
            position += 1 + (text == "-D")
            continue
        if text == "-f" and not roots and position + 1 < len(words):  # of BSD
            position += 1
        elif text.startswith(("-", "(", "!")):
            break
        roots.append(words[position])
        position += 1
    is_given = any(word.text == "-files0-from" for word in words)
    return [Word(None, "${item}")] if is_given else roots or [Word(".", ".")]


def _item_of_find(words: tuple[Word, ...]) -> Word:
    """Return a word for each path that `find` finds: `START/{}`, or START if that can be found itself."""
    root = roots_of_find(words)[0]
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
            if words[position].text.startswith("{}"):  # what it finds is the program
                inner = (_ITEM, *inner[1:])
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


_READERS: Final[Mapping[str, Callable[[tuple[Word, ...]], list[Step]]]] = {
    "eval": _unwrap_eval,
    "trap": _unwrap_trap,
    "find": _unwrap_find,
    "gfind": _unwrap_find,
    "fd": _unwrap_fd,
    "fdfind": _unwrap_fd,
}
