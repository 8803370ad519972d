"""Which files the command line of a shell call may write, what it renames, and whether it can make a commit.

The line is parsed by the grammar that `check` uses and nothing is simulated: what the shell computes is unknown.
What is not known counts as "may": a program that is no known reader may write every file that it names.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from functools import cache, lru_cache
from glob import escape
from itertools import pairwise
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from tree_sitter import Node, Parser


CommitChance: TypeAlias = Literal["none", "unknown", "git"]
MAX_COMMAND: Final = 100_000  # characters that are parsed
_MAX_LEVELS: Final = 8  # of commands in commands
_ANY: Final = "*"  # stands for what the shell computes; quoted characters of a pattern are escaped
_TEMPORARY: Final = "/tmp/tmp."  # noqa: S108 - begins what `mktemp` prints


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_SHELLS: Final = frozenset({"sh", "bash", "zsh", "dash", "ksh"})
_WRAPPERS: Final = _words(
    "sudo env time nohup nice command exec builtin stdbuf setsid timeout xargs npx bunx pipx uvx parallel"
)
_RUNNERS: Final = {"uv": "run", "poetry": "run", "pdm": "run", "hatch": "run", "rye": "run", "bundle": "exec",
                   "npm": "exec", "pnpm": "exec", "yarn": "exec", "python": "-m", "python3": "-m"}  # fmt: skip
_VALUED: Final = _words("-n -P -I -L -d -s -k -u -E -C -c --git-dir --work-tree --with --python --group")
_MAKE_NO_COMMITS: Final = _words(
    "cat bat head tail less more wc grep egrep fgrep rg ag ack ls tree stat file diff cmp comm nl test [ [[ echo "
    "printf cd pushd popd du df md5sum sha1sum sha256sum shasum cksum cut tr uniq paste join column fold rev tac od "
    "xxd hexdump strings readlink realpath basename dirname which type pwd true false exit return export set unset "
    "local read sleep wait kill ps date jq yq fd mkdir touch chmod chown mktemp mypy pyright pyflakes flake8 pylint "
    "bandit vulture tsc staticcheck golangci-lint shellcheck yamllint actionlint open seq ulimit apply_patch "
    "applypatch diffstat colordiff delta batcat exa eza hash let declare typeset getopts shift break continue find rm "
    "mv cp sed awk sort tee"
)
_WRITERS: Final = frozenset({"rm", "mv", "cp", "sed", "awk", "sort", "tee"})
_READERS: Final = (_MAKE_NO_COMMITS - _WRITERS) | _words(
    "source . trap alias tox nox pytest py.test unittest coverage code gh vitest jest mocha pre-commit"
)
_GIT_COMMITTING: Final = _words(
    "commit merge rebase cherry-pick revert am pull commit-tree citool gui filter-branch fast-import subtree svn"
)
_GIT_WRITING: Final = _words(
    "checkout restore clean reset rm mv apply merge rebase pull cherry-pick revert am switch bisect read-tree "
    "checkout-index filter-branch"
)
_GIT_READERS: Final = _words(
    "add annotate archive blame branch bundle cat-file check-ignore cherry clone config count-objects describe diff "
    "diff-index diff-tree fetch for-each-ref format-patch fsck gc grep hash-object help init log ls-files ls-remote "
    "ls-tree merge-base merge-tree name-rev notes push range-diff reflog remote rev-list rev-parse shortlog show "
    "show-ref stash status symbolic-ref tag update-index update-ref var version whatchanged worktree write-tree"
)
_COMMITTERS: Final = {  # other programs for git repositories, with their words that make commits
    "gt": {"commit", "create", "modify", "c", "m", "absorb", "squash", "restack", "sync"},
    "jj": {"commit", "ci", "new", "describe", "squash", "split", "rebase"},
    "sl": {"commit", "ci", "amend", "rebase"},
    "hub": {"commit", "merge", "rebase", "cherry-pick", "am"},
}
_PYTHON, _WEB = (".py", ".pyi", ".ipynb"), (".js", ".jsx", ".ts", ".tsx", ".mjs", ".cjs", ".vue", ".svelte")
_TEXTS: Final = (*_WEB, ".json", ".css", ".scss", ".less", ".html", ".md", ".mdx", ".yml", ".yaml", ".graphql")
_FORMATTERS: Final = {  # with the word that makes them write, and the files that they format in a directory
    "black": ("", _PYTHON), "isort": ("", _PYTHON), "rustfmt": ("", (".rs",)), "gofmt": ("-w", (".go",)),
    "gofumpt": ("-w", (".go",)), "goimports": ("-w", (".go",)), "prettier": ("--write", _TEXTS),
    "autopep8": ("-i", _PYTHON), "yapf": ("-i", _PYTHON), "autoflake": ("-i", _PYTHON), "eslint": ("--fix", _WEB),
    "biome": ("--write", _TEXTS), "ruff": ("format", _PYTHON), "go": ("fmt", (".go",)), "cargo": ("fmt", (".rs",)),
    "npm": ("format", ("",)), "pnpm": ("format", ("",)), "yarn": ("format", ("",)), "bun": ("format", ("",)),
    "make": ("format", ("",)), "clang-format": ("-i", (".c", ".h", ".cc", ".cpp", ".hpp", ".m")),
}  # fmt: skip
_ONLY_CHECKS: Final = frozenset({"--check", "--diff", "--check-only", "--version"})
_FIXES: Final = ("--fix", "--write", "--unsafe-fixes", "--in-place", "--inplace", "--apply")
_CHECKING: Final = frozenset({"test", "t", "run", "build", "vet", "check", "doc"})
_INTERPRETER: Final = re.compile(r"python[\d.]*|node|ruby|perl|deno|bun|php")
_IN_PLACE: Final = re.compile(r"--in-place.*|-[a-hj-zA-Z0-9]*i.*")
_MOVE_OPTIONS: Final = frozenset({"-f", "-v", "--force", "--verbose"})
_MKTEMP: Final = re.compile(r'"?\$\(\s*mktemp\b')
_PATCH: Final = re.compile(r"\*\*\* Begin Patch\n.*?\*\*\* End Patch", re.DOTALL)
_ABOVE: Final = re.compile(r"\A(?:\.\./|/)+")  # of a path: where it begins is unknown
_TOKEN: Final = re.compile(r"[^\s'\"`=:,;()<>|&\x00]+")


class ShellCommand(NamedTuple):
    """A simple command without the wrappers around it.

    words: the program and its arguments, as patterns: `*` for what is not known
    outputs: the files that it is redirected to
    text: its here documents
    directory: where it runs; relative if it is not known where the line began
    names: of the files that it is given by `find`; empty: any
    """

    words: tuple[str, ...]
    outputs: tuple[str, ...] = ()
    text: str = ""
    directory: str = ""
    names: tuple[str, ...] = ()


class Move(NamedTuple):
    """A path that a command renamed to `new`, or to `into` if `new` was a directory."""

    path: str
    new: str
    into: str | None = None


@lru_cache(maxsize=64)
def read_commands(line: str, directory: str = "") -> tuple[ShellCommand, ...] | None:
    """Return the simple commands of a line in order, also those of scripts in it; None if it cannot be read.

    The patches in it are left out: their lines are read as edits.
    """
    return _read_script(_PATCH.sub("", line), directory, 0)


def may_write(line: str, path: str, directory: str = "") -> bool:
    """Return True if a command line may write a file, whose path is relative to the repository or absolute."""
    commands = read_commands(line, directory)
    return _mentions(line, path, directory) if commands is None else any(_writes(each, path) for each in commands)


def commit_chance(line: str) -> CommitChance:
    """Return whether a line can make a commit: it runs git for that, it certainly does not, or that is unknown."""
    commands = read_commands(line)
    found = {"unknown"} if commands is None else {_chance_of(each) for each in commands}
    return "git" if "git" in found else "unknown" if "unknown" in found else "none"


def list_moves(line: str) -> list[Move]:
    """Return what the `mv` and `git mv` of a line rename, as far as the names are known."""
    return [move for each in read_commands(line) or () for move in _moves_of(each.words)]


def _moves_of(words: Sequence[str]) -> Iterator[Move]:
    rest = words[1:] if words[:1] == ("mv",) else words[2:] if words[:2] == ("git", "mv") else ()
    operands = [word for word in rest if word not in {*_MOVE_OPTIONS, "--"}]
    if len(operands) < 2 or any(word.startswith("-") or set(word) & set("*?[") or not word for word in operands):
        return
    *sources, target = operands
    inner = [posixpath.join(target, posixpath.basename(source.rstrip("/"))) for source in sources]
    if len(sources) == 1 and posixpath.basename(target) not in {"", ".", ".."}:
        yield Move(sources[0], target, inner[0])
    else:
        yield from map(Move, sources, inner)


def _chance_of(command: ShellCommand) -> CommitChance:
    if not command.words:
        return "none"
    program, rest = posixpath.basename(command.words[0]), command.words[1:]
    if program == "git":
        verb = next(iter(_without_options(rest)), "")
        return "git" if verb in _GIT_COMMITTING else "none" if verb in _GIT_READERS | _GIT_WRITING | {""} else "unknown"
    if program in _COMMITTERS:
        return "git" if rest and rest[0] in _COMMITTERS[program] else "unknown"
    return "none" if program in _MAKE_NO_COMMITS or (program in _SHELLS and not rest) else "unknown"


def _writes(command: ShellCommand, path: str) -> bool:
    if any(_reaches(output, path, command.directory) for output in command.outputs):
        return True
    if not command.words or (
        command.names and not any(fnmatchcase(posixpath.basename(path), n) for n in command.names)
    ):
        return False
    program, rest = posixpath.basename(command.words[0]), command.words[1:]
    operands = [word for word in rest if not word.startswith("-")]
    fixes = any(word.startswith(_FIXES) for word in rest)
    if program == "git":
        return _git_writes(_without_options(rest), path, command)
    if program in _FORMATTERS:
        needed, suffixes = _FORMATTERS[program]
        if fixes or needed in {"", *rest}:
            named = [word for word in operands if word not in {needed, "check", "run"}]
            is_named = any(_reaches(word, path, command.directory) for word in named)
            is_reached = _reaches_any(named, path, command.directory) if named else not _is_temporary(command)
            return not _ONLY_CHECKS & {*rest} and (is_named or (is_reached and path.endswith(suffixes)))
        if needed.startswith("-") or program == "ruff" or (operands and operands[0] in _CHECKING):
            return False
    if program in {"sed", "gsed", "perl"} and not any(map(_IN_PLACE.fullmatch, rest)):
        return program == "perl" and _mentions("\n".join((*rest, command.text)), path, command.directory)
    if program in {"cp", "ln", "install", "rsync", "ditto"} and operands:
        *sources, target = operands
        operands = [target, *(posixpath.join(target, posixpath.basename(each.rstrip("/"))) for each in sources)]
        return _reaches_any(operands, path, command.directory)
    if program in {"sed", "gsed", "perl", "rm", "rmdir", "unlink", "mv", "tee", "truncate"}:
        return _reaches_any(operands, path, command.directory)
    if (program in _READERS and not fixes) or (program in {"awk", "gawk"} and "inplace" not in rest):
        return False
    if _INTERPRETER.fullmatch(program) and operands and not {"-c", "-e", "-"} & {*rest}:
        rest = tuple(word for word in rest if word != operands[0])  # the script
    return program == "patch" or _mentions("\n".join((*rest, command.text)), path, command.directory)


def _git_writes(words: Sequence[str], path: str, command: ShellCommand) -> bool:
    verb, given = words[0] if words else "", words[1:]
    operands = [word for word in given if not word.startswith("-")]
    options = {*given} - {*operands}
    only_staged = options & {"--staged", "-S", "--cached", "--check", "--stat", "--dry-run", "-n", "-nd", "--quit"}
    creates = verb in {"checkout", "switch"} and options & {"-b", "-B", "-c", "-C", "--create", "--orphan"}
    harmless = only_staged or creates or (verb == "reset" and not options & {"--hard", "--merge", "--keep"})
    if verb not in _GIT_WRITING or (harmless and verb != "rm"):
        return False
    named = given[given.index("--") + 1 :] if "--" in given else operands
    if named and (verb in {"rm", "mv", "restore", "clean"} or "--" in given or (verb == "checkout" and len(named) > 1)):
        return _reaches_any(named, path, command.directory)
    return not _is_temporary(command)


def _is_temporary(command: ShellCommand) -> bool:
    return command.directory.startswith(_TEMPORARY)


def _without_options(words: Sequence[str]) -> Sequence[str]:
    """Return the words from the first one that is neither an option nor the value of one."""
    at = 0
    while at < len(words) and words[at].startswith("-"):
        at += 2 if words[at] in _VALUED else 1
    return words[at:]


def _reaches_any(operands: Iterable[str], path: str, directory: str) -> bool:
    """Return True if an operand may be a file or a directory above it."""
    above = [path]
    while posixpath.dirname(above[-1]) not in {"", "/"}:
        above.append(posixpath.dirname(above[-1]))
    return any(
        word and (posixpath.normpath(posixpath.join(directory, word)) == "." or _reaches(word, each, directory))
        for word in operands
        for each in above
    )


def _reaches(word: str, path: str, directory: str) -> bool:
    """Return True if a word may be the path of a file; of two paths the shorter one may be the end of the other."""
    for whole in dict.fromkeys((posixpath.normpath(posixpath.join(directory, word)), posixpath.normpath(word))):
        pattern = _ABOVE.sub("", whole)
        if fnmatchcase(path, f"*/{pattern}") or fnmatchcase(path, pattern) or fnmatchcase(pattern, f"*/{escape(path)}"):
            return True
    return False


def _mentions(text: str, path: str, directory: str) -> bool:
    """Return True if a text names a file by its path, or the end of it."""
    name = posixpath.basename(path)
    found = {word for word in _TOKEN.findall(text) if posixpath.basename(word) == name} if name in text else ()
    return any(_reaches(escape(word), path, directory) for word in found)


@cache
def _parser() -> Parser:
    import tree_sitter_bash
    from tree_sitter import Language, Parser

    return Parser(Language(tree_sitter_bash.language()))


def _read_script(script: str, directory: str, level: int) -> tuple[ShellCommand, ...] | None:
    if len(script) > MAX_COMMAND or level > _MAX_LEVELS:
        return None
    reader = _Reader(script.encode("utf-8", "replace"), directory, level)
    root = _parser().parse(reader.source).root_node
    try:
        return None if root.has_error or not reader.read(root) else tuple(reader.found)
    except RecursionError:
        return None


class _Reader:
    """Collects the commands of one script; knows the directory and the variables that were set."""

    def __init__(self, source: bytes, directory: str, level: int) -> None:
        self.source = source
        self.found: list[ShellCommand] = []
        self._directory, self._level = directory, level
        self._variables: dict[str, str] = {}
        self._names: tuple[str, ...] = ()  # that a `find` before a pipe looks for
        self._is_complete = True

    def read(self, node: Node, redirects: Sequence[Node] = ()) -> bool:
        """Read a node; return False if a script in it cannot be read."""
        if node.type == "redirected_statement":
            body, given = node.child_by_field_name("body"), node.children_by_field_name("redirect")
            for each in given:
                self._read_children(each)
            if body is None or body.type not in {"command", "list", "redirected_statement"}:
                self._add((), [*given, *redirects])
            if body is not None:
                self.read(body, [*given, *redirects])
        elif node.type == "list":
            for child in node.named_children[:-1]:
                self.read(child)
            self.read(node.named_children[-1], redirects)
        elif node.type == "command":
            self._read_children(node)
            words = [each for each in node.named_children if not each.type.endswith(("_assignment", "_redirect"))]
            self._add(tuple(map(self._value, words)), [*redirects, *node.children_by_field_name("redirect")])
        elif node.type in {"subshell", "command_substitution", "process_substitution"}:
            before = self._directory
            self._read_children(node)
            self._directory = before
        else:
            if node.type == "variable_assignment" and (value := node.child_by_field_name("value")) is not None:
                name, _, text = self._text(node.start_byte, node.end_byte).partition("=")
                self._variables[name] = _TEMPORARY if _MKTEMP.match(text) else self._value(value)
            self._read_children(node)
            if node.type == "pipeline":
                self._names = ()
        return self._is_complete

    def _read_children(self, node: Node) -> None:
        for child in node.named_children:
            self.read(child)

    def _text(self, start: int, end: int) -> str:
        return self.source[start:end].decode("utf-8", "replace")

    def _value(self, node: Node) -> str:
        """Return a word as a pattern."""
        text = self._text(node.start_byte, node.end_byte)
        match node.type:
            case "command_name":
                return "".join(map(self._value, node.named_children))
            case "word" | "number" | "extglob_pattern" | "regex":
                return re.sub(r"\\(.)", lambda match: escape(match[1].strip("\n")), text, flags=re.DOTALL)
            case "raw_string":
                return escape(text[1:-1])
            case "ansi_c_string":
                return escape(text[2:-1])
            case "string":
                pieces, end = [], node.start_byte + 1
                for child in node.named_children:
                    pieces += [escape(self._text(end, child.start_byte)), self._value(child)]
                    end = child.end_byte
                return "".join([*pieces, escape(self._text(end, node.end_byte - 1))])
            case "string_content":
                return escape(re.sub(r'\\([\\$`"])', r"\1", text))
            case "concatenation":
                return re.sub(r"\{[^{}]*,[^{}]*\}", _ANY, "".join(map(self._value, node.children)))
            case "simple_expansion":
                return self._variables.get(text[1:], _ANY)
            case "expansion" if re.fullmatch(r"\$\{\w+\}", text):
                return self._variables.get(text[2:-1], _ANY)
        return _ANY if node.is_named else text

    def _add(self, words: tuple[str, ...], redirects: Iterable[Node]) -> None:
        outputs, texts = [], []
        for each in redirects:
            target = each.child_by_field_name("destination")
            if each.type == "heredoc_redirect":
                bodies = [c for c in each.named_children if c.type == "heredoc_body"]
                texts += [self._text(c.start_byte, c.end_byte) for c in bodies]
                inner = [c for c in each.named_children if c.type == "file_redirect"]
                outputs += [self._value(t) for c in inner if (t := c.child_by_field_name("destination")) is not None]
            elif each.type == "herestring_redirect" and each.named_children:
                texts.append(self._value(each.named_children[-1]))
            elif target is not None and ">" in self._text(each.start_byte, each.end_byte) and target.type != "number":
                outputs.append(self._value(target))
        if words or outputs:
            self._run(ShellCommand(words, tuple(outputs), "\n".join(texts), self._directory), 0)

    def _run(self, command: ShellCommand, level: int) -> None:
        """Add a command: what `sudo`, `xargs`, `find -exec`, `bash -c` and the like run in its place."""
        words = command.words
        program, rest = posixpath.basename(words[0]) if words else "", words[1:]
        if level > _MAX_LEVELS:
            self._is_complete = False
        elif program in _WRAPPERS or (rest and _RUNNERS.get(program) == rest[0]):
            inner = rest if program in _WRAPPERS else rest[1:]
            while inner and (inner[0].startswith("-") or "=" in inner[0]):
                inner = inner[2 if inner[0] in _VALUED else 1 :]
            inner = inner[1:] if program == "timeout" else inner
            if program == "xargs":
                command = command._replace(names=self._names)
                inner = (*inner, _ANY)
            self._run(command._replace(words=inner), level + 1)
        elif program in _SHELLS or program == "eval":
            at = next((n for n, word in enumerate(rest[:-1]) if re.fullmatch(r"-[a-z]*c", word)), None)
            script = " ".join(rest) if program == "eval" else None if at is None else rest[at + 1]
            for text in filter(None, (script, command.text if not rest else "")):
                inner_commands = _read_script(_unescape(text), self._directory, self._level + 1)
                self._is_complete = self._is_complete and inner_commands is not None
                self.found += inner_commands or ()
            self.found.append(command if script is None else command._replace(words=()))
        elif program == "find":
            self._names = tuple(_unescape(b) for a, b in pairwise(rest) if a in {"-name", "-iname"})
            self.found.append(command)
            for at in (at for at, word in enumerate(rest) if word in {"-exec", "-execdir", "-ok", "-delete"}):
                end = next((n for n in range(at, len(rest)) if rest[n] in {";", "+"}), len(rest))
                inner = tuple(word.replace("{}", _ANY) for word in rest[at + 1 : end])
                inner = ("rm", "-r", *(rest[:1] if rest[:1] != (".",) else (_ANY,))) if rest[at] == "-delete" else inner
                self._run(command._replace(words=inner, outputs=(), names=self._names), level + 1)
        elif program in {"cd", "pushd"}:
            self.found.append(command)
            self._directory = posixpath.join(self._directory, next((w for w in rest if not w.startswith("-")), _ANY))
        else:
            self.found.append(command)


def _unescape(pattern: str) -> str:
    return re.sub(r"\[([*?\[])\]", r"\1", pattern)
