"""The programs that run another command: which of their words are that command."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from scopes.check.shell_state import Word

SHELLS: Final = frozenset({"sh", "bash", "zsh", "dash", "ksh", "ash", "fish", "rbash"})
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)


class Step(NamedTuple):
    """What a command runs, one layer below it.

    words: a command; empty if there is a script
    script, arguments: a text that a shell runs, and its arguments from `$0` on
    kept: the outer command runs as well, and counts as a command of its own
    """

    wrapper: str
    words: tuple[Word, ...] = ()
    script: Word | None = None
    arguments: tuple[Word, ...] | None = None
    environment: tuple[tuple[str, str | None], ...] = ()
    directory: Word | None = None
    kept: bool = False


class _Wrapper(NamedTuple):
    """How a wrapper is called.

    valued: options that take the next word as value: letters, and long names
    skip: number of operands before the command
    script: the command is a text for a shell: the joined operands, or the value of this option
    directory: the option that changes the directory
    """

    valued: str = ""
    long: tuple[str, ...] = ()
    skip: int = 0
    assignments: bool = False
    joined: bool = False
    script: tuple[str, ...] = ()
    directory: tuple[str, ...] = ()
    not_run: str = ""  # letters of options with which nothing runs


WRAPPERS: Final[Mapping[str, _Wrapper]] = {
    "sudo": _Wrapper(
        "ughpCTrtDRUac",
        ("--user", "--group", "--host", "--prompt", "--chdir", "--close-from", "--role", "--type", "--chroot"),
        assignments=True,
        directory=("-D", "--chdir"),
        not_run="elvKkV",
    ),
    "doas": _Wrapper("uCa", not_run="L"),
    "pkexec": _Wrapper("", ("--user",)),
    "run0": _Wrapper("ugD", ("--user", "--group", "--chdir", "--unit", "--property", "--setenv")),
    "gosu": _Wrapper(skip=1),
    "su-exec": _Wrapper(skip=1),
    "runuser": _Wrapper("ugcG", ("--user", "--group", "--command"), script=("-c", "--command")),
    "env": _Wrapper(
        "uCS",
        ("--unset", "--chdir", "--split-string"),
        assignments=True,
        script=("-S", "--split-string"),
        directory=("-C", "--chdir"),
    ),
    "nice": _Wrapper("n", ("--adjustment",)),
    "ionice": _Wrapper("cnp", ("--class", "--classdata")),
    "chrt": _Wrapper("TPD", skip=1),
    "taskset": _Wrapper(skip=1),
    "cpulimit": _Wrapper("lpe", ("--limit",)),
    "nohup": _Wrapper(),
    "setsid": _Wrapper(),
    "caffeinate": _Wrapper("tw"),
    "timeout": _Wrapper("ks", ("--kill-after", "--signal"), skip=1),
    "gtimeout": _Wrapper("ks", ("--kill-after", "--signal"), skip=1),
    "time": _Wrapper("of", ("--output", "--format"), assignments=True),
    "stdbuf": _Wrapper("ioe", ("--input", "--output", "--error")),
    "unbuffer": _Wrapper(),
    "command": _Wrapper(not_run="vV"),
    "exec": _Wrapper("a"),
    "builtin": _Wrapper(),
    "coproc": _Wrapper(),
    "busybox": _Wrapper(),
    "toybox": _Wrapper(),
    "chroot": _Wrapper("", ("--userspec", "--groups"), skip=1),
    "unshare": _Wrapper("SGR"),
    "strace": _Wrapper("oeEpsPSuabIOX"),
    "ltrace": _Wrapper("oeEpsnulaADFX"),
    "valgrind": _Wrapper(),
    "xvfb-run": _Wrapper("sneflp", ("--server-num", "--server-args")),
    "dbus-run-session": _Wrapper(),
    "proxychains": _Wrapper("f"),
    "torsocks": _Wrapper(),
    "ccache": _Wrapper(),
    "watch": _Wrapper("nq", ("--interval", "--equexit"), joined=True),
    "flock": _Wrapper("wEc", ("--timeout", "--wait", "--command"), skip=1, script=("-c", "--command")),
    "script": _Wrapper("cEITOBomt", ("--command",), script=("-c", "--command"), skip=9),
    "su": _Wrapper("cgGsw", ("--command", "--group", "--shell"), script=("-c", "--command"), skip=9),
    "npx": _Wrapper("pcw", ("--package", "--call", "--workspace"), script=("-c", "--call")),
    "bunx": _Wrapper("p", ("--package",)),
    "uvx": _Wrapper("pw", ("--from", "--with", "--python", "--index-url")),
    "direnv exec": _Wrapper(skip=1),
    "dotenv": _Wrapper("fe"),
    "nix-shell": _Wrapper("pIA", ("--run", "--command", "--packages"), script=("--run", "--command"), skip=9),
    "uv run": _Wrapper(
        "pwmC",
        ("--python", "--with", "--extra", "--group", "--project", "--directory", "--package",
         "--env-file", "--with-requirements", "--index-url"),
        directory=("--directory",),
    ),
    "uv tool run": _Wrapper("pw", ("--from", "--with", "--python")),
    "pipx run": _Wrapper("", ("--spec", "--python", "--pip-args")),
    "poetry run": _Wrapper("CP", ("--directory", "--project")),
    "pipenv run": _Wrapper(),
    "pdm run": _Wrapper("p", ("--project",)),
    "hatch run": _Wrapper(),
    "rye run": _Wrapper(),
    "bundle exec": _Wrapper(),
    "conda run": _Wrapper("np", ("--name", "--prefix", "--cwd")),
    "mise exec": _Wrapper("C", ("--cd",)),
    "asdf exec": _Wrapper(),
    "npm exec": _Wrapper("pcw", ("--package", "--call", "--workspace"), script=("-c", "--call")),
    "pnpm exec": _Wrapper("C", ("--dir", "--filter")),
    "pnpm dlx": _Wrapper("", ("--package",)),
    "yarn dlx": _Wrapper("p", ("--package",)),
    "yarn exec": _Wrapper(),
}  # fmt: skip
_MAX_OPTIONS: Final = 30  # words before the text of `env -S`
_TWO_WORDS: Final = frozenset(name.split(" ", maxsplit=1)[0] for name in WRAPPERS if " " in name)


class Options(NamedTuple):
    """The options of a command with their values, and its operands."""

    given: tuple[tuple[str, Word | None], ...]
    operands: tuple[Word, ...]

    def value(self, names: tuple[str, ...]) -> Word | None:
        """Return the last value of one of some options."""
        return next((value for name, value in reversed(self.given) if name in names and value is not None), None)

    def has(self, letters: str) -> bool:
        """Return True if a short option is given, alone or in a cluster."""
        return any(name[1:] in letters for name, _ in self.given if len(name) == 2)


def split_options(words: tuple[Word, ...], valued: str, long: tuple[str, ...] = ()) -> Options:
    """Read the options before the first operand; `valued` letters and `long` names take a value."""
    given: list[tuple[str, Word | None]] = []
    position = 0
    while position < len(words):
        text = words[position].text
        if text == "--":
            position += 1
            break
        if not text.startswith("-") or text == "-":
            break
        position += 1
        name, equals, value = text.partition("=")
        if text.startswith("--"):
            following = name in long and not equals and position < len(words)
            given.append((name, words[position] if following else Word(value, value) if equals else None))
            position += following
            continue
        for number, letter in enumerate(text[1:], 2):
            if letter in valued:
                attached = text[number:]
                following = not attached and position < len(words)
                given.append((f"-{letter}", words[position] if following else Word(attached, attached)))
                position += following
                break
            given.append((f"-{letter}", None))
    return Options(tuple(given), words[position:])


def unwrap_program(words: tuple[Word, ...]) -> Step | None:
    """Return what a wrapper such as `sudo` or `timeout` runs; None for other programs and if nothing runs."""
    name = program_of(words)
    if name in _TWO_WORDS:
        names = (" ".join((name, *(word.text for word in words[1:count]))) for count in (3, 2))
        name = next((each for each in names if each in WRAPPERS), "")
        words = words[name.count(" ") :]
    wrapper = WRAPPERS.get(name)
    if wrapper is None:
        return None
    if name == "env" and (step := _split_string(words, wrapper)) is not None:
        return step
    options = split_options(words[1:], wrapper.valued, wrapper.long)
    if wrapper.not_run and options.has(wrapper.not_run):
        return None
    operands, environment = list(options.operands), []
    while wrapper.assignments and operands and (match := _ASSIGNMENT.fullmatch(operands[0].text)):
        environment.append((match[1], match[2] if operands.pop(0).value is not None else None))
    script = options.value(wrapper.script) if wrapper.script else None
    if script is None and wrapper.script and wrapper.skip:  # `su - user -c 'command'`: the option follows operands
        start = next((n for n, word in enumerate(operands) if word.text.startswith("-") and word.text != "-"), 1)
        behind = tuple(operands[1 if wrapper.skip == 1 else start :])
        script = split_options(behind, wrapper.valued, wrapper.long).value(wrapper.script)
    if script is not None:
        return Step(name, script=script, environment=tuple(environment))
    rest = tuple(operands[wrapper.skip :])
    if not rest:
        return None
    if wrapper.joined:
        rest, script = (), join(rest)
    directory = options.value(wrapper.directory) if wrapper.directory else None
    return Step(name, rest, script, environment=tuple(environment), directory=directory)


def _split_string(words: tuple[Word, ...], wrapper: _Wrapper) -> Step | None:
    """Return what `env -S TEXT WORDS` runs: the words of the text, with all that follow it, options included."""
    for count in range(2, min(len(words), _MAX_OPTIONS) + 1):
        options = split_options(words[1:count], wrapper.valued, wrapper.long)
        script = options.value(wrapper.script)
        if options.operands:
            return None
        if script is not None and script.text:
            return Step("env", script=Word(None, " ".join((script.text, *(word.text for word in words[count:])))))
    return None


def program_of(words: tuple[Word, ...]) -> str:
    """Return the name of the program without its directory; empty if the shell computes it."""
    if not words:
        return ""
    name = words[0].text.rsplit("/", 1)[-1]
    return name if words[0].value is not None or not re.search(r"[$`(]", name) else ""


def join(words: tuple[Word, ...]) -> Word:
    """Join words with blanks, as `eval` does."""
    programs = tuple(program for word in words for program in word.programs)
    text = " ".join(word.text for word in words)
    return Word(None if any(word.value is None for word in words) else text, text, programs)
