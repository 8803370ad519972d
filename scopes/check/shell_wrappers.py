"""The programs that run another command: which of their words are that command."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from functools import lru_cache
from typing import Final, NamedTuple

from scopes.check.shell_command import Setting
from scopes.check.shell_state import Word
from scopes.lazy_patterns import compile_lazily

SHELLS: Final = frozenset(
    {"sh", "bash", "zsh", "dash", "ksh", "ash", "fish", "rbash", "csh", "tcsh", "mksh", "lksh", "oksh", "ksh93", "yash"}
)
_ASSIGNMENT = compile_lazily(r"([^=$`]+)=(.*)", re.DOTALL)  # of env, which takes any name


class Step(NamedTuple):
    """What a command runs, one layer below it.

    words: a command; empty if there is a script
    script, arguments: a text that a shell runs, and its arguments from `$0` on
    kept: the outer command runs as well, and counts as a command of its own
    settings: of git, from `-c` and `--config-env`
    """

    wrapper: str
    words: tuple[Word, ...] = ()
    script: Word | None = None
    arguments: tuple[Word, ...] | None = None
    environment: tuple[tuple[str, str | None], ...] = ()
    directory: Word | None = None
    kept: bool = False
    settings: tuple[Setting, ...] = ()


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
    architecture: bool = False  # the first operand may be an architecture
    each: bool = False  # each operand is a text for a shell
    shell_behind: str = ""  # the words behind this one are arguments of bash
    program: tuple[str, ...] = ()  # the program is the value of this option, the operands are its arguments
    flags: tuple[str, ...] = ()  # long options without a value that begin as one of `long` does


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
    "setarch": _Wrapper(architecture=True),
    "linux32": _Wrapper(),
    "linux64": _Wrapper(),
    "i386": _Wrapper(),
    "x86_64": _Wrapper(),
    "prlimit": _Wrapper("p", ("--pid", "--output")),
    "choom": _Wrapper("np", ("--adjust", "--pid")),
    "setpriv": _Wrapper(
        "",
        ("--reuid", "--regid", "--ruid", "--rgid", "--euid", "--egid", "--groups", "--inh-caps", "--ambient-caps",
         "--bounding-set", "--securebits", "--pdeathsig", "--selinux-label", "--apparmor-profile"),
    ),
    "nsenter": _Wrapper("tSG", ("--target", "--setuid", "--setgid")),
    "capsh": _Wrapper(shell_behind="--"),
    "start-stop-daemon": _Wrapper(
        "aunrpPcgIxsNRdkO",
        ("--pidfile", "--pid", "--ppid", "--name", "--chuid", "--user", "--group", "--chdir", "--chroot", "--exec",
         "--startas", "--signal", "--retry", "--nicelevel", "--procsched", "--iosched", "--umask", "--output"),
        program=("-x", "--exec", "-a", "--startas"),
        flags=("--start",),
    ),
    "systemd-run": _Wrapper(
        "pMHEutd",
        ("--uid", "--gid", "--unit", "--property", "--description", "--slice", "--machine", "--host", "--setenv",
         "--working-directory", "--nice", "--on-active", "--service-type"),
    ),
    "sg": _Wrapper("c", script=("-c",), skip=9),
    "gsudo": _Wrapper("u", ("--user",)),
    "dzdo": _Wrapper("ugp"),
    "ssh-agent": _Wrapper("atEOP", not_run="kcsdD"),
    "fakeroot": _Wrapper("lfisb"),
    "eatmydata": _Wrapper(),
    "chronic": _Wrapper(),
    "ifne": _Wrapper(),
    "rlwrap": _Wrapper("aAbBCdDefFgHIKlmMnNoOpPqQrRsStTuwWz"),
    "dumb-init": _Wrapper("r"),
    "tini": _Wrapper("pe"),
    "numactl": _Wrapper("mNCpPi", ("--membind", "--cpunodebind", "--physcpubind", "--interleave")),
    "cgexec": _Wrapper("g"),
    "faketime": _Wrapper("f", skip=1),
    "ld.so": _Wrapper("", ("--library-path", "--preload", "--argv0", "--audit")),
    "catchsegv": _Wrapper(),
    "sem": _Wrapper("j", ("--jobs", "--id")),
    "hyperfine": _Wrapper(
        "wrmMpcsSnPDLI",
        ("--warmup", "--runs", "--min-runs", "--max-runs", "--prepare", "--cleanup", "--setup", "--shell",
         "--command-name", "--export-json", "--export-markdown", "--parameter-scan", "--parameter-list"),
        each=True,
    ),
    "concurrently": _Wrapper("ncsp", ("--names", "--prefix", "--success", "--prefix-colors"), each=True),
    "pee": _Wrapper(each=True),
    "corepack": _Wrapper(),
    "ip netns exec": _Wrapper(skip=1),
    "ip vrf exec": _Wrapper(skip=1),
    "aws-vault exec": _Wrapper("d", ("--duration",), skip=1),
    "op run": _Wrapper("", ("--env-file", "--account")),
    "doppler run": _Wrapper("pc", ("--project", "--config", "--command"), script=("--command",)),
    "infisical run": _Wrapper("", ("--env", "--path", "--command"), script=("--command",)),
    "perf stat": _Wrapper("erIoptC"),
    "perf record": _Wrapper("eoFcpt"),
    "busybox": _Wrapper(),
    "toybox": _Wrapper(),
    "chroot": _Wrapper("", ("--userspec", "--groups"), skip=1),
    "unshare": _Wrapper("SGRw", ("--setuid", "--setgid", "--root", "--wd", "--propagation", "--setgroups")),
    "strace": _Wrapper("oeEpsPSuabIOX"),
    "ltrace": _Wrapper("oeEpsnulaADFX"),
    "valgrind": _Wrapper(),
    "xvfb-run": _Wrapper("sneflp", ("--server-num", "--server-args")),
    "dbus-run-session": _Wrapper(),
    "proxychains": _Wrapper("f"),
    "torsocks": _Wrapper(),
    "ccache": _Wrapper(),
    "watch": _Wrapper("nq", ("--interval", "--equexit"), joined=True),
    "flock": _Wrapper(
        "wEc",
        ("--timeout", "--wait", "--command", "--conflict-exit-code"),
        skip=1,
        script=("-c", "--command"),
    ),
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
    **dict.fromkeys(
        ("npm exec", "npm x"), _Wrapper("pcw", ("--package", "--call", "--workspace"), script=("-c", "--call"))
    ),
    "cmake -E": _Wrapper(),
    "pnpm exec": _Wrapper("C", ("--dir", "--filter")),
    "pnpm dlx": _Wrapper("", ("--package",)),
    "yarn dlx": _Wrapper("p", ("--package",)),
    "yarn exec": _Wrapper(),
}  # fmt: skip
_ENV_BLANK: Final = compile_lazily(r"\\[_tnrfv]")  # in the text of `env -S`
_LOADER: Final = compile_lazily(r"ld-linux.*\.so\.\d+|ld(?:-musl|-\d).*\.so(?:\.\d+)?|ld\.so")
_ARCHITECTURE: Final = compile_lazily(
    r"x86_64|i[3-6]86|linux(?:32|64)|uname26|arm\w*|aarch64|ppc\w*|s390x?|mips\w*|riscv\w*"
)
_PACKAGE_RUNNERS: Final = frozenset({"npx", "bunx", "npm exec", "pnpm dlx", "yarn dlx", "uvx", "pipx run", "corepack"})
_PROGRAMS_OF_PACKAGES: Final = {"@changesets/cli": "changeset", "@vscode/vsce": "vsce"}
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


def is_abbreviation(given: str, name: str) -> bool:
    """Return True if an option is a long one, perhaps shortened as getopt_long allows: `--forc`, `--recur`.

    A beginning that several options of the program share counts too: the program refuses it.
    """
    return len(given) > 2 and given.startswith("--") and name.startswith(given)


def split_options(
    words: tuple[Word, ...], valued: str, long: tuple[str, ...] = (), flags: tuple[str, ...] = ()
) -> Options:
    """Read the options before the first operand; `valued` letters and `long` names take a value.

    Long names may be shortened, but `flags` are options of their own: `--start` is not `--startas`.
    """
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
            if name not in long and name not in flags:
                name = next((each for each in long if is_abbreviation(name, each)), name)
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


def unwrap_program(words: tuple[Word, ...]) -> list[Step]:
    """Return what a wrapper such as `sudo` or `timeout` runs; empty for other programs and if nothing runs."""
    name = program_of(words)
    name = "ld.so" if _LOADER.fullmatch(name) else name
    if name in _TWO_WORDS:
        words = _without_options(words) if name in {"npm", "pnpm", "yarn"} else words
        names = (" ".join((name, *(word.text for word in words[1:count]))) for count in (3, 2))
        name = next((each for each in names if each in WRAPPERS), "")
        words = words[name.count(" ") :]
    wrapper = WRAPPERS.get(name)
    if wrapper is None:
        return []
    step = _split_string(words, wrapper) if name == "env" else None
    if step is not None:
        return [step]
    options = split_options(words[1:], wrapper.valued, wrapper.long, wrapper.flags)
    is_idle = bool(wrapper.not_run) and options.has(wrapper.not_run)
    return [] if is_idle else _unwrap_known(name, wrapper, options, words)


def _without_options(words: tuple[Word, ...]) -> tuple[Word, ...]:
    """Return `npm exec ...` for `npm --prefix DIR exec ...`."""
    if len(words) < 2 or not words[1].text.startswith("-"):
        return words
    for number, word in enumerate(words[:8]):
        is_value = words[number - 1].text.startswith("-")  # perhaps: of the option in front of it
        if word.text in {"exec", "dlx"} or (word.text == "x" and not is_value):
            return (words[0], *words[number:])
    return words


def _unwrap_cmake(words: tuple[Word, ...]) -> Step:
    """Return what `cmake -E` runs: a command of its own, named like the usual one, or another program."""
    first = words[0].text if words else ""
    if first == "chdir" and len(words) > 1:
        return Step("cmake -E chdir", words[2:], directory=words[1], kept=True)
    if first == "remove_directory":
        words = (Word("rm", "rm"), Word("-r", "-r"), *words[1:])
    if first == "env":
        words = tuple(word for word in words if word.text != "--")
    return Step("cmake -E", words, kept=True)


def _unwrap_known(name: str, wrapper: _Wrapper, options: Options, words: tuple[Word, ...]) -> list[Step]:
    operands = list(options.operands)
    if name == "env" and operands and operands[0].text == "-":
        operands.pop(0)
    while name == "time" and operands and operands[0].text == "!":  # `time ! COMMAND` negates its status
        operands.pop(0)
    environment: list[tuple[str, str | None]] = []
    while wrapper.assignments and operands and (match := _ASSIGNMENT.fullmatch(operands[0].text)):
        environment.append((match[1], match[2] if operands.pop(0).value is not None else None))
    script = _script_of(wrapper, options, operands)
    if script is not None:
        return [Step(name, script=script, environment=tuple(environment))]
    if name == "cmake -E":
        return [_unwrap_cmake(tuple(operands))] if operands else []
    rest = _command_of(wrapper, options, tuple(operands[wrapper.skip :]), words)
    if name in _PACKAGE_RUNNERS and rest:
        rest = (_without_version(rest[0]), *rest[1:])
    module = options.value(("-m", "--module")) if name == "uv run" else None
    if module is not None:
        rest = (Word("python", "python"), Word("-m", "-m"), module, *rest)
    if wrapper.each:
        return [Step(name, script=word) for word in rest]
    joined = join(rest) if wrapper.joined and rest else None
    directory = options.value(wrapper.directory) if wrapper.directory else None
    step = Step(name, () if joined else rest, joined, environment=tuple(environment), directory=directory)
    return [step] if rest else []


def _script_of(wrapper: _Wrapper, options: Options, operands: list[Word]) -> Word | None:
    """Return the text that a wrapper gives to a shell; None if it runs words."""
    script = options.value(wrapper.script) if wrapper.script else None
    if script is None and wrapper.script and wrapper.skip:  # `su - user -c 'command'`: the option follows operands
        start = next((n for n, word in enumerate(operands) if word.text.startswith("-") and word.text != "-"), 1)
        behind = tuple(operands[1 if wrapper.skip == 1 else start :])
        script = split_options(behind, wrapper.valued, wrapper.long).value(wrapper.script)
    return script


def _command_of(
    wrapper: _Wrapper, options: Options, operands: tuple[Word, ...], words: tuple[Word, ...]
) -> tuple[Word, ...]:
    """Return the words of the command that a wrapper runs."""
    if wrapper.program:
        program = options.value(wrapper.program)
        return () if program is None else (program, *operands)
    if wrapper.shell_behind:
        texts = [word.text for word in words]
        start = texts.index(wrapper.shell_behind) + 1 if wrapper.shell_behind in texts else len(words)
        return (Word("bash", "bash"), *words[start:]) if start < len(words) else ()
    if wrapper.skip and operands and operands[0].text == "--":
        return operands[1:]
    if wrapper.architecture and operands and _ARCHITECTURE.fullmatch(operands[0].text):
        return split_options(operands[1:], "").operands
    return operands


def _without_version(word: Word) -> Word:
    """Return the name of the program that `npx PACKAGE@VERSION` runs."""
    name = word.text[:1] + word.text[1:].partition("@")[0]
    name = _PROGRAMS_OF_PACKAGES.get(name, name)
    return word if word.value is None or name == word.text else Word(name, name)


def _split_string(words: tuple[Word, ...], wrapper: _Wrapper) -> Step | None:
    """Return what `env -S TEXT WORDS` runs: the words of the text, with all that follow it, options included."""
    for count in range(2, min(len(words), _MAX_OPTIONS) + 1):
        options = split_options(words[1:count], wrapper.valued, wrapper.long)
        script = options.value(wrapper.script)
        if options.operands:
            return None
        if script is not None and script.text:
            behind = (word.text if word.value is None else shlex.quote(word.value) for word in words[count:])
            text = _ENV_BLANK.sub(" ", script.text)
            return Step("env", script=Word(None, " ".join((text, *behind))))
    return None


def program_of(words: tuple[Word, ...]) -> str:
    """Return the name of the program without its directory; empty if the shell computes it."""
    return _name_of(words[0]) if words else ""


@lru_cache(maxsize=1024)
def _name_of(word: Word) -> str:
    if word.value is not None:
        return word.text.rsplit("/", 1)[-1]
    name = re.sub(r"\$\{[^}]*\}?", "$", word.text).rsplit("/", 1)[-1]  # `${a/b/c}` has slashes of its own
    return "" if re.search(r"[$`(}]", name) else name


def join(words: tuple[Word, ...]) -> Word:
    """Join words with blanks, as `eval` does."""
    programs = tuple(program for word in words for program in word.programs)
    text = " ".join(word.text for word in words)
    return Word(None if any(word.value is None for word in words) else text, text, programs)
