"""What single programs change, given their arguments: formatters, editors, copies, git; and which ones only read."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Sequence
from dataclasses import replace

from scopes.model.shell_effects import Action
from scopes.model.shell_words import ANY, STAR

FORMATTERS = frozenset({"gofmt -w", "prettier --write", "ruff format", "rustfmt", "black", "go fmt", "cargo fmt"})
"""Causes that only format a file: its text is then known except for white space and line breaks."""
_GO, _PYTHON, _RUST, _C = (".go",), (".py", ".pyi", ".ipynb"), (".rs",), (".c", ".h", ".cc", ".cpp", ".hpp", ".m")
_WEB = (".js", ".jsx", ".ts", ".tsx", ".mjs", ".cjs", ".vue", ".svelte")
_TEXTS = (*_WEB, ".json", ".css", ".scss", ".less", ".html", ".md", ".mdx", ".yml", ".yaml", ".graphql")
READERS = frozenset(
    [
        "cat",
        "bat",
        "head",
        "tail",
        "less",
        "more",
        "wc",
        "grep",
        "egrep",
        "fgrep",
        "rg",
        "ag",
        "ack",
        "ls",
        "tree",
        "stat",
        "file",
        "diff",
        "cmp",
        "comm",
        "nl",
        "test",
        "[",
        "[[",
        "echo",
        "printf",
        "cd",
        "pushd",
        "popd",
        "du",
        "df",
        "md5sum",
        "sha1sum",
        "sha256sum",
        "shasum",
        "cksum",
        "cut",
        "tr",
        "uniq",
        "paste",
        "join",
        "column",
        "fold",
        "rev",
        "tac",
        "od",
        "xxd",
        "hexdump",
        "strings",
        "readlink",
        "realpath",
        "basename",
        "dirname",
        "which",
        "type",
        "pwd",
        "true",
        "false",
        "exit",
        "return",
        "export",
        "set",
        "unset",
        "local",
        "read",
        "sleep",
        "wait",
        "kill",
        "ps",
        "date",
        "jq",
        "yq",
        "fd",
        "mkdir",
        "touch",
        "chmod",
        "chown",
        "mktemp",
        "tox",
        "nox",
        "pytest",
        "py.test",
        "unittest",
        "mypy",
        "pyright",
        "pyflakes",
        "flake8",
        "pylint",
        "bandit",
        "vulture",
        "tsc",
        "vitest",
        "jest",
        "mocha",
        "staticcheck",
        "golangci-lint",
        "shellcheck",
        "yamllint",
        "actionlint",
        "gh",
        "open",
        "code",
        "seq",
        "source",
        ".",
        "for",
        "case",
        "function",
        "trap",
        "alias",
        "ulimit",
        "apply_patch",
        "applypatch",
        "diffstat",
        "colordiff",
        "delta",
        "batcat",
        "exa",
        "eza",
        "pre-commit",
        "coverage",
        "hash",
        "let",
        "declare",
        "typeset",
        "getopts",
        "shift",
        "break",
        "continue",
    ]
)
_FIXES = ("--fix", "--write", "--fix-only", "--unsafe-fixes", "--in-place", "--inplace", "--apply")
_INTERPRETERS = frozenset({"python", "python2", "python3", "node", "ruby", "perl", "deno", "bun", "php"})
# Tools that change the files and directories that they name, with the options that make them readers, and suffixes.
FORMATTING: dict[str, tuple[str, frozenset[str], tuple[str, ...]]] = {
    "black": ("", frozenset({"--check", "--diff", "--version"}), _PYTHON),
    "isort": ("", frozenset({"--check", "--check-only", "-c", "--diff"}), _PYTHON),
    "rustfmt": ("", frozenset({"--check", "--version"}), _RUST),
    "gofmt": ("-w", frozenset(), _GO),
    "gofumpt": ("-w", frozenset(), _GO),
    "goimports": ("-w", frozenset(), _GO),
    "prettier": ("--write", frozenset(), _TEXTS),
    "autopep8": ("-i", frozenset(), _PYTHON),
    "yapf": ("-i", frozenset(), _PYTHON),
    "clang-format": ("-i", frozenset(), _C),
    "eslint": ("--fix", frozenset(), _WEB),
    "biome": ("--write", frozenset(), _TEXTS),
    "markdownlint": ("--fix", frozenset(), (".md",)),
    "golangci-lint": ("--fix", frozenset(), _GO),
    "autoflake": ("-i", frozenset(), _PYTHON),
}
_GIT_READERS = frozenset(
    [
        "diff",
        "log",
        "show",
        "status",
        "add",
        "commit",
        "blame",
        "ls-files",
        "ls-tree",
        "ls-remote",
        "grep",
        "rev-parse",
        "rev-list",
        "branch",
        "fetch",
        "push",
        "tag",
        "remote",
        "config",
        "describe",
        "cat-file",
        "hash-object",
        "merge-base",
        "name-rev",
        "shortlog",
        "reflog",
        "for-each-ref",
        "symbolic-ref",
        "update-index",
        "check-ignore",
        "diff-tree",
        "diff-index",
        "init",
        "clone",
        "worktree",
        "notes",
        "range-diff",
        "format-patch",
        "archive",
        "gc",
        "fsck",
        "help",
        "version",
        "count-objects",
        "var",
        "whatchanged",
        "annotate",
        "cherry",
        "show-ref",
        "update-ref",
        "write-tree",
        "commit-tree",
        "merge-tree",
    ]
)
_GIT_TREES = frozenset(
    [
        "merge",
        "rebase",
        "pull",
        "cherry-pick",
        "revert",
        "am",
        "switch",
        "bisect",
        "read-tree",
        "checkout-index",
        "filter-branch",
    ]
)


def _operands(rest: Sequence[str]) -> tuple[str, ...]:
    return tuple(word for word in rest if not word.startswith("-"))


def _has_letter(rest: Sequence[str], letter: str) -> bool:
    return any(word.startswith("-") and not word.startswith("--") and letter in word for word in rest)


def read_program(  # noqa: C901 - one branch for each kind of program
    program: str, rest: Sequence[str], texts: str, directory: str
) -> Iterator[Action]:
    """Yield what one program may change, given its arguments."""
    operands = _operands(rest)
    if program in {"sed", "gsed", "perl", "ruby"} and (_is_in_place(program, rest)):
        option = next((word for word in rest if _is_in_place(program, [word])), "-i")
        option = "-i" if option.startswith("-i") else option.partition("=")[0]
        yield Action(cause=f"{program} {option}", operands=operands, directory=directory)
    elif program in {"sed", "gsed"}:
        yield from (
            Action(cause=program, text=word, directory=directory) for word in rest if "w" in word and " " in word
        )
    elif program in {"awk", "gawk", "mawk"}:
        if "inplace" in " ".join(rest):
            yield Action(cause="awk -i inplace", operands=operands, directory=directory)
        yield from (
            Action(cause="awk", text=word, directory=directory) for word in operands if ">" in word or "|" in word
        )
        if any("print" in word and ">" in word and '"' not in word for word in operands):
            yield Action(cause="awk", operands=operands, directory=directory)
    elif program in {"rm", "rmdir", "unlink", "trash", "shred"}:
        yield Action(cause=program, operands=operands, trees=True, directory=directory)
    elif program in {"tee", "truncate", "ed", "ex", "sponge"}:
        yield Action(cause=program, operands=operands, directory=directory)
    elif program in {"cp", "mv", "ln", "install", "rsync", "ditto"}:
        yield from _read_copy(program, rest, directory)
    elif program == "patch":
        yield Action(cause=program, operands=operands, everything=not texts, text=texts, directory=directory)
    elif program == "dd":
        yield Action(cause=program, operands=tuple(word[3:] for word in rest if word[:3] == "of="), directory=directory)
    elif program in {"sort", "curl", "wget"}:
        values = [rest[at + 1] for at, word in enumerate(rest[:-1]) if word in {"-o", "--output", "-O"}]
        values += [word.partition("=")[2] for word in rest if word.startswith("--output=")]
        values += [word[2:] for word in rest if word[:2] == "-o"]
        values += operands if program != "sort" and _has_letter(rest, "O") else []
        yield Action(cause=f"{program} -o", operands=tuple(filter(None, values)), directory=directory)
    elif program in {"ruff", "go", "cargo", "make", "npm", "pnpm", "yarn", "bun"}:
        yield from _read_tool(program, rest, texts, directory)
    elif program in FORMATTING:
        needed, readers, suffixes = FORMATTING[program]
        is_writer = not readers & set(rest) and (not needed or needed in rest or (needed == "--fix" and _fixes(rest)))
        cause = f"{program} {needed}".strip()
        if is_writer:
            yield Action(cause=cause, operands=operands or (".",), trees=True, suffixes=suffixes,
                         formats=cause in FORMATTERS, directory=directory)  # fmt: skip
    elif program in _INTERPRETERS or program.startswith("python3."):
        script = () if rest[:1] in (["-c"], ["-e"], ["-"]) or not operands else (operands[0],)
        yield Action(
            cause=program, text="\n".join((*(word for word in rest if word not in script), texts)), directory=directory
        )
    elif program not in READERS or _fixes(rest):
        yield Action(cause=program, text="\n".join((*rest, texts)), directory=directory)
        globbed = tuple(word for word in operands if STAR in word and ANY not in word)
        yield Action(cause=program, operands=globbed, directory=directory)


def _fixes(rest: Sequence[str]) -> bool:
    return any(word.startswith(_FIXES) for word in rest)


def _is_in_place(program: str, rest: Sequence[str]) -> bool:
    """Return True if an option of `sed`, or a cluster of options of `perl`, edits files in place."""
    if any(word.startswith("--in-place") for word in rest):
        return True
    letters = "nrEszu" if program.endswith("sed") else "0123456789pnlawWe"
    return any(word[:1] == "-" and word[1:].lstrip(letters)[:1] == "i" for word in rest)


def _read_copy(program: str, rest: Sequence[str], directory: str) -> Iterator[Action]:
    operands = _operands(rest)
    if not operands:
        return
    *sources, target = operands
    yield Action(cause=program, operands=(target,), directory=directory)
    copied = tuple(posixpath.join(target, posixpath.basename(source.rstrip("/"))) for source in sources)
    recursive = program in {"rsync", "mv", "ditto"} or any(_has_letter(rest, letter) for letter in "rRa")
    yield Action(cause=program, operands=copied, trees=recursive, directory=directory)
    if recursive and program != "mv":
        yield Action(cause=program, operands=(target,), trees=True, directory=directory)
    if program == "mv":
        yield Action(cause=program, operands=tuple(sources), trees=True, directory=directory)
    if any(word == "-t" or word.startswith("--target") for word in rest):
        yield Action(cause=program, operands=operands, trees=True, directory=directory)


def _read_tool(program: str, rest: Sequence[str], texts: str, directory: str) -> Iterator[Action]:
    """Yield what a tool with subcommands may change."""
    operands = _operands(rest)
    first, paths = (operands[0], operands[1:]) if operands else ("", ())
    checks = {"--check", "--diff", "-n"} & set(rest)
    if program == "ruff":
        if first == "format" and not checks:
            yield Action(cause="ruff format", operands=paths or (".",), trees=True, suffixes=_PYTHON, formats=True,
                         directory=directory)  # fmt: skip
        elif _fixes(rest):
            yield Action(cause="ruff --fix", operands=operands, trees=True, everything=len(operands) < 2,
                         suffixes=_PYTHON, directory=directory)  # fmt: skip
    elif program in {"go", "cargo"} and first in {"fmt", "fix", "clippy", "generate"}:
        if (first in {"fmt", "generate"} and not checks) or _fixes(rest) or (first == "fix"):
            suffixes = _GO if program == "go" else _RUST
            yield Action(cause=f"{program} {first}", everything=True, suffixes=suffixes, formats=first == "fmt",
                         directory=directory)  # fmt: skip
    elif program == "go" and first == "mod":
        yield Action(cause="go mod", operands=("go.mod", "go.sum"), directory=directory)
    elif program in {"npm", "pnpm", "yarn", "bun", "make"} and any(word in {"fmt", "format"} for word in operands):
        yield Action(cause=f"{program} format", everything=True, directory=directory)
    elif (
        program in {"make", "bun"} or _fixes(rest) or first not in {"test", "t", "run", "build", "vet", "check", "doc"}
    ):
        yield Action(cause=program, text="\n".join((*rest, texts)), directory=directory)


def read_git(rest: list[str], texts: str, directory: str) -> Iterator[Action]:
    """Yield what a git command may change in the work tree."""
    at = 0
    while at < len(rest) and rest[at].startswith("-"):
        if rest[at] == "-C" and at + 1 < len(rest):
            directory = posixpath.join(directory, rest[at + 1])
        at += 2 if rest[at] in {"-C", "-c", "--git-dir", "--work-tree"} else 1
    verb, given = (rest[at], rest[at + 1 :]) if at < len(rest) else ("", [])
    operands, options = _operands(given), {word for word in given if word.startswith("-")}
    paths = tuple(given[given.index("--") + 1 :]) if "--" in given else None
    cause = f"git {verb}"
    if verb in _GIT_READERS or not verb or _is_harmless(verb, operands, options):
        return
    if verb in {"mv", "rm"}:
        if verb == "mv":
            yield from (replace(action, cause=cause) for action in _read_copy("mv", given, directory))
        else:
            yield Action(cause=cause, operands=operands, trees=True, directory=directory)
    elif verb in {"checkout", "restore", "stash", "clean", "reset"}:
        named = paths
        if named is None:
            named = operands if verb in {"restore", "clean"} or len(operands) > 1 or operands == (".",) else ()
            named = () if verb in {"stash", "reset"} else named
        yield Action(cause=cause, operands=named, trees=True, everything=not named, directory=directory)
    elif verb == "apply":
        yield Action(cause=cause, text=texts, everything=not texts, directory=directory)
    elif verb in _GIT_TREES:
        yield Action(cause=cause, everything=True, directory=directory)
    else:
        yield Action(cause=cause, text="\n".join(given), directory=directory)


def _is_harmless(verb: str, operands: tuple[str, ...], options: set[str]) -> bool:
    """Return True if a git command with these options changes no file of the work tree."""
    creates = {"-b", "-B", "-c", "-C", "--create", "--orphan"} & options and len(operands) == 1
    return bool(
        (verb in {"checkout", "switch"} and creates)
        or (verb == "reset" and not {"--hard", "--merge", "--keep"} & options)
        or (verb == "restore" and {"--staged", "-S"} & options and not {"--worktree", "-W"} & options)
        or (verb == "stash" and operands[:1] and operands[0] in {"list", "show", "drop", "clear", "create"})
        or (verb == "clean" and ("--dry-run" in options or any(word[1:2] != "-" and "n" in word for word in options)))
        or (verb == "apply" and {"--check", "--stat", "--numstat", "--summary", "--cached"} & options)
        or (verb in {"cherry-pick", "revert", "rebase", "merge"} and "--quit" in options)
    )
