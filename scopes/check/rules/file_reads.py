"""The files that a command reads, as its words name them: of cat, grep, cp, tar, curl and others like them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from scopes.check.rules.commands import read_flags
from scopes.check.shell_command import Command
from scopes.context.secret_files import may_hold_secrets
from scopes.lazy_patterns import compile_lazily

_READERS: Final[Mapping[str, str]] = {  # programs that read their operands; options with values
    "cat": "", "less": "", "more": "", "bat": "rlH", "batcat": "rlH", "head": "cn", "tail": "cn", "nl": "", "tac": "",
    "base64": "w", "base32": "w", "xxd": "clsg", "od": "AtjNw", "hexdump": "nsefF", "strings": "n", "sort": "kto",
    "cut": "dfc", "diff": "U", "paste": "d", "source": "", ".": "", "dotenv": "", "view": "",
    "rev": "", "fold": "w", "fmt": "wpg", "pr": "hlow", "column": "scot", "uniq": "fsw", "expand": "t",
    "unexpand": "t", "comm": "", "join": "12ejtov", "split": "abCln", "csplit": "bfn", "ul": "", "vis": "",
}  # fmt: skip
_SEARCHERS: Final[Mapping[str, str]] = {  # programs whose first operand is an expression
    "grep": "ABCmef", "egrep": "ABCmef", "fgrep": "ABCmef", "rg": "ABCmefgtTM", "ag": "ABCmG", "sed": "efl",
    "awk": "Fvf", "gawk": "Fvf", "jq": "", "yq": "",
}  # fmt: skip
_INTERPRETERS: Final = compile_lazily(r"python[\d.]*|pypy\d*|node|nodejs|bun|deno|ruby")
_OPENED: Final = compile_lazily(
    r"(?:\brequire|\breadFile(?:Sync)?|\bopen|\bPath|\bload_dotenv|\bFile\.read)\s*\(\s*['\"`]([^'\"`]+)['\"`]"
)  # a file that a program in an argument names
_PACKERS: Final = frozenset({"tar", "gtar", "bsdtar", "zip", "7z", "cpio", "rar"})
_MOVERS: Final = frozenset({"mv", "ln"})  # what they name stays protected if the new name is one of a secret too
_UPLOADS: Final = compile_lazily(r"-T|--upload-file|--post-file|--body-file")
_COPIERS: Final[Mapping[str, str]] = {"cp": "tS", "scp": "cFiJloPS", "rsync": "efT", "install": "gmot"}
_PACKAGE_NAME: Final = compile_lazily(
    r"auth|keys?|tokens?", re.IGNORECASE
)  # such as internal/auth, a directory of sources
_IN_VARIABLE: Final = compile_lazily(r"\$\{?\w+\}?/[^$`]+|/proc/[^/]+/environ")
_OTHERWISE: Final = compile_lazily(r"\$\{\w+:?[-=+]([^}]*)\}")


def list_reads(command: Command) -> Iterator[str]:
    """Yield the files that a command reads, as its words name them."""
    yield from (each.target for each in command.redirections if each.kind == "read" and each.target is not None)
    program, words = command.program or "", _readable_words(command)
    operands: Sequence[str | None] = ()
    if program in _PACKERS or program in _MOVERS or program in {"dd", "xargs", "wget"}:
        operands = _packed(program, words)
    elif program in _READERS:
        operands = read_flags(words, _READERS[program]).operands
    elif program in _SEARCHERS:
        flags = read_flags(words, _SEARCHERS[program], ("--regexp", "--expression", "--arg", "--argjson"))
        given = flags.options & {"-e", "--regexp", "--expression"}
        operands = flags.operands if given else flags.operands[1:]
        if program in {"rg", "ag"} or flags.options & {"-r", "-R", "--recursive", "--dereference-recursive"}:
            given_paths = [word for word in operands if word is not None and not _is_package(word)]
            operands = [_in_directory(word) for word in given_paths]
    elif program in _COPIERS:
        operands = read_flags(words, _COPIERS[program]).operands[:-1]
    elif program in {"curl", "http", "https"}:
        operands = [word.rpartition("@")[2] for word in words if word and re.match(r"(?:\w+=|-d|--data\S*=)?@", word)]
        operands += _uploaded(words)
    elif program in {"find", "gfind"} and _reads_what_it_finds(words):
        operands = [words[n + 1] for n, word in enumerate(words[:-1]) if word in {"-name", "-iname"}]
    elif program == "git" and words[:1] in {("diff",), ("hash-object",)}:
        flags = read_flags(words[1:])
        operands = flags.operands if words[0] == "hash-object" or "--no-index" in flags.options else ()
    elif program == "git" and words[:1] == ("show",):
        operands = [word.partition(":")[2] for word in words[1:] if word is not None and ":" in word]
    yield from (each for each in (*operands, *_read_by_argument(program, words)) if each)


def _read_by_argument(program: str, words: Sequence[str | None]) -> Sequence[str | None]:
    """Return the files that a program given as an argument reads: the operands of perl, or what it opens."""
    if program == "perl":
        flags = read_flags(words, "eEIM", attached="iF")
        return flags.operands if flags.options & {"-e", "-E"} else ()
    if _INTERPRETERS.fullmatch(program):
        return [match[1] for word in words if word for match in _OPENED.finditer(word)]
    return ()


def _reads_what_it_finds(words: Sequence[str | None]) -> bool:
    """Return True if `find -exec` runs a program that reads files."""
    programs = [words[n + 1] for n, word in enumerate(words[:-1]) if word in {"-exec", "-execdir"}]
    return any(each in _READERS or each in _SEARCHERS for each in programs if each is not None)


def _readable_words(command: Command) -> tuple[str | None, ...]:
    """Return the words behind the program; of `$HOME/.netrc` and `$dir/.env` the name of the file is known."""
    pairs = zip(command.argv[1:], command.words[1:], strict=False)
    return tuple(value if value is not None else _file_name_of(text) for value, text in pairs)


def _file_name_of(text: str) -> str | None:
    """Return what is known of the name of a file that a variable decides: `$dir/.env`, `${x:-.env}`."""
    if _IN_VARIABLE.fullmatch(text):
        return text
    replaced = _OTHERWISE.sub(r"\1", text)
    return replaced if replaced != text and not re.search(r"[$`]", replaced) else None


def _packed(program: str, words: Sequence[str | None]) -> list[str | None]:
    """Return the files that a program packs, moves, copies or uploads."""
    known = [word for word in words if word]
    if program == "dd":
        return [word[3:] for word in known if word.startswith("if=")]
    if program == "wget":
        return _uploaded(words)
    if program == "xargs":
        return [known[n + 1] for n, word in enumerate(known[:-1]) if word in {"-a", "--arg-file"}]
    if program in _MOVERS:
        *sources, target = [word for word in known if not word.startswith("-")] or [""]
        return [] if may_hold_secrets(target) or target.endswith(("/", "/.")) or target in {".", ".."} else [*sources]
    mode = known[0] if known else ""
    if program in {"tar", "gtar", "bsdtar"}:
        creates = re.fullmatch(r"-?[a-zA-Z]*[cru][a-zA-Z]*", mode) or {"--create", "-c", "--append"} & {*known}
        excluded = {known[n + 1] for n, word in enumerate(known[:-1]) if word in {"-f", "--file", "--exclude", "-C"}}
        return [_in_directory(word) for word in known[1:] if word not in excluded] if creates else []
    return [_in_directory(word) for word in known[1:] if not word.startswith("-")] if program == "zip" else []


def _uploaded(words: Sequence[str | None]) -> list[str | None]:
    """Return the files that options of curl and wget upload."""
    found: list[str | None] = []
    for number, word in enumerate(words):
        name, equals, value = (word or "").partition("=")
        if _UPLOADS.fullmatch(name):
            found += [value] if equals else words[number + 1 : number + 2]
        elif name.startswith("-T") and len(name) > 2:
            found.append((word or "")[2:])
    return found


def _in_directory(path: str) -> str:
    """Return a directory that is searched with a slash at its end if any file in it may hold secrets."""
    return f"{path.rstrip('/')}/" if may_hold_secrets(f"{path.rstrip('/')}/any.example") else path


def _is_package(path: str) -> bool:
    """Return True if a path that is searched with all files below it is a directory of sources by its name.

    It needs a directory above it, as in `internal/auth`, and none of its directories is hidden, as in `~/.ssh/keys`.
    """
    *above, name = [each for each in path.split("/") if each not in {"", "."}] or [""]
    is_hidden = any(each.startswith((".", "~")) and each != ".." for each in above)
    return bool(above) and not is_hidden and _PACKAGE_NAME.fullmatch(name) is not None
