"""Find which files a program writes, deletes or links, by its arguments; paths stay as written.

One list for all that asks: the rules about protected files and hooks, and what later commands run or read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from scopes.check.shell_command import Change, ChangeKind
from scopes.check.shell_files import Files
from scopes.check.shell_restored import RESTORING, restores_files
from scopes.check.shell_scripts import SED_LETTERS, SED_LONG, SEDS
from scopes.check.shell_state import Input, Word, resolve
from scopes.check.shell_unwrap import roots_of_find
from scopes.check.shell_wrappers import Options, is_abbreviation, program_of, split_options
from scopes.lazy_patterns import compile_lazily

_MAX_OPERANDS: Final = 200
_CURL_VALUED: Final = ("oAbcCdDeEFHKmPQrtTuUwxXyYz", ("--output", "--output-dir", "--url", "--header", "--data"))
_WGET_VALUED: Final = ("OaeioPBtTwQARDIXUl", ("--output-document", "--directory-prefix", "--header", "--input-file"))
_ADDRESS: Final = compile_lazily(r"(?:\w+://)?[^\s?#]+/(?P<name>[^/\s?#]+)(?:[?#]\S*)?")
_CLONE_VALUED: Final = (
    "--branch",
    "--config",
    "--depth",
    "--origin",
    "--jobs",
    "--upload-pack",
    "--reference",
    "--filter",
)
_TARGET: Final = ("--target-directory", "--suffix")
_IN_PLACE: Final = compile_lazily(r"-[nrEsuz]*i.*|--in-place(?:=.*)?")
_PERL_IN_PLACE: Final = compile_lazily(r"-[0-9lnpawsTtW]*i.*")
_FILE_NAME: Final = compile_lazily(r".+\.[A-Za-z]\w{0,4}")  # that is none of a branch, nor of a directory
_WHOLE_TREE: Final = frozenset({".", "./", ":/", ":/."})
_FROM_INDEX: Final = frozenset({None, "HEAD", "@"})  # what `git restore` takes without an option, and what equals it
_ALL_FOUND: Final = frozenset(
    {"-delete", "-depth", "-d", "-xdev", "-mount", "-print", "-type", "f", "d", "-P", "-H", "-L"}
)
_HARD_LINKS: Final = compile_lazily(r"-[a-zA-Z]*l[a-zA-Z]*|--link")
_RECURSIVE: Final = compile_lazily(r"-[a-zA-Z]*[rRa][a-zA-Z]*|--recursive|--archive")
_FORCED: Final = compile_lazily(r"-[a-zA-Z]*f[a-zA-Z]*|--force")
_KEEPS_LINKS: Final = compile_lazily(
    r"-[a-zA-Z]*[rRadP][a-zA-Z]*|--recursive|--archive|--no-dereference|--preserve=\S*"
)
_ONLY_SHOWN: Final = compile_lazily(r"--(?:stat|numstat|summary|check|cached)")
_SYMBOLIC: Final = compile_lazily(r"-[a-zA-Z]*s[a-zA-Z]*|--sym\w*")
_OUTPUTS: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {  # options with a file that is written
    "sort": ("o", ("--output",)),
    "patch": ("o", ("--output",)),
    "openssl": ("", ("-out",)),
}


def find_changes(words: tuple[Word, ...]) -> list[Change]:
    """Return the files that a command changes."""
    finder = _FINDERS.get(program_of(words)) if words else None
    return [] if finder is None else [each for each in finder(words) if each.path not in {"", ".", "-", "/dev/null"}]


def apply_changes(
    changes: Sequence[Change], words: tuple[Word, ...], files: Files, given: Input | None, directory: str | None
) -> None:
    """Remember what a command did to files in a directory; the paths of its changes are resolved."""
    program = program_of(words)
    if program in RESTORING and restores_files(words):
        files.restore(directory)
    for change in changes:
        if not change.path.startswith(("/", "~")):
            continue
        if change.kind == "write" and change.path.endswith("/{}"):
            files.overwrite_below(change.path[:-3])
        if change.kind == "link":
            files.link(change.path, change.source, is_forced=any(_FORCED.fullmatch(word.text) for word in words[1:]))
        elif change.kind == "copy":
            _apply_copy(change, words, files)
        elif change.kind == "write":
            is_tee = program == "tee" and given is not None and given.script is not None
            text = given.script.value if is_tee and given is not None and given.script is not None else None
            is_appended = any(re.fullmatch(r"-\w*a\w*|--app\w*", word.text) for word in words[1:])
            files.write(change.path, text, is_appended=is_tee and is_appended)


def _apply_copy(change: Change, words: tuple[Word, ...], files: Files) -> None:
    program = program_of(words)
    if change.source in files.links and _moves_links(program, words):
        files.link(change.path, None)
    files.copy(change.source, change.path)
    if _makes_hard_links(program, words):
        files.tie(change.source, change.path)
    if change.source is not None and files.written:
        files.copy_below(change.source, change.path)


def _moves_links(program: str, words: tuple[Word, ...]) -> bool:
    """Return True if a program makes a link of a link, not a copy of its file."""
    return program in {"mv", "gmv"} or any(_KEEPS_LINKS.fullmatch(word.text) for word in words[1:])


def _makes_hard_links(program: str, words: tuple[Word, ...]) -> bool:
    return program in {"ln", "gln"} or (
        program in {"cp", "gcp"} and any(_HARD_LINKS.fullmatch(word.text) for word in words[1:])
    )


def resolve_changes(changes: Sequence[Change], directory: str | None, files: Files) -> tuple[Change, ...]:
    """Return changes with resolved paths; links on the way are followed, one at the end if it is written."""
    resolved = []
    for change in changes:
        path = resolve(directory, change.path)
        if path is None:
            resolved.append(change)
            continue
        source = change.source
        if change.kind == "restore":
            pass
        elif change.kind == "link":
            source = resolve(path.rpartition("/")[0] or "/", source)
        elif source is not None:
            source = resolve(directory, source)
        parent, slash, name = path.rpartition("/")
        if files.links and change.kind in {"write", "copy"}:
            path = files.follow(path) or path
        elif files.links:
            path = f"{files.follow(parent) or parent}{slash}{name}"
        resolved.append(change._replace(path=path, source=source))
    return tuple(resolved)


def _split(words: tuple[Word, ...], letters: str, long: tuple[str, ...] = ()) -> Options:
    """Read options and operands in any order, as GNU programs do."""
    given: list[tuple[str, Word | None]] = []
    operands: list[Word] = []
    rest = words[1:_MAX_OPERANDS]
    while rest:
        options = split_options(rest, letters, long)
        given += options.given
        operands += options.operands[:1]
        if options.operands and len(options.operands) < len(rest) and rest[-len(options.operands) - 1].text == "--":
            operands += options.operands[1:]
            break
        rest = options.operands[1:]
    return Options(tuple(given), tuple(operands))


def _copies(words: tuple[Word, ...]) -> Iterator[Change]:
    program = program_of(words)
    options = _split(words, "tSmog" if program == "install" else "tS", _TARGET)
    if program == "install" and options.has("d"):
        yield from (Change("directory", word.text) for word in options.operands)
        return
    into = options.value(("-t", "--target-directory"))
    sources = [word.text for word in options.operands]
    if into is not None:
        target = into.text
    elif program == "ln" and len(sources) == 1:
        target = "."
    elif len(sources) > 1:
        target = sources.pop()
    else:
        return
    is_symbolic = program in {"ln", "gln", "cp", "gcp"} and any(_SYMBOLIC.fullmatch(word.text) for word in words[1:])
    is_directory = into is not None or len(sources) > 1 or target.endswith("/") or target in {".", ".."}
    kind: ChangeKind = "link" if is_symbolic else "copy"
    is_recursive = program.endswith("cp") and any(_RECURSIVE.fullmatch(word.text) for word in words[1:])
    if is_recursive:
        yield Change("write", f"{target.rstrip('/') or target}/{{}}", is_tree=any(map(_means_contents, sources)))
    for source in sources:
        base = source.rstrip("/").rsplit("/", 1)[-1]
        is_tree = is_recursive or (program.endswith(("mv", "ln")) and not _FILE_NAME.fullmatch(base))
        if not is_directory:
            yield Change(kind, target, source, is_tree)
        if base.strip("."):
            yield Change(kind, f"{target.rstrip('/') or target}/{base}", source, is_tree)
        if program.endswith("mv"):
            yield Change("delete", source, is_tree=True)


def _means_contents(source: str) -> bool:
    """Return True if a source of a copy is what is in a directory; for BSD also with a slash at the end."""
    return source.endswith(("/", "/.")) or source in {".", ".."}


def _all_written(words: tuple[Word, ...]) -> Iterator[Change]:
    letters = {"truncate": "sr", "touch": "drt", "ed": "p", "ex": "c"}.get(program_of(words), "")
    yield from (Change("write", word.text) for word in _split(words, letters, ("--size", "--reference")).operands)


def _all_deleted(words: tuple[Word, ...]) -> Iterator[Change]:
    program = program_of(words)
    options = _split(words, "ns" if program == "shred" else "")
    is_tree = program in {"rimraf", "trash"} or any(
        name in {"-r", "-R"} or is_abbreviation(name, "--recursive") for name, _ in options.given
    )
    yield from (Change("delete", word.text, is_tree=is_tree) for word in options.operands)


def _made(words: tuple[Word, ...]) -> Iterator[Change]:
    yield from (Change("directory", word.text) for word in _split(words, "m", ("--mode",)).operands)


def _edited(words: tuple[Word, ...]) -> Iterator[Change]:
    """Yield the operands of `sed -i`, without the script, and without the suffix of `sed -i ''` on macOS."""
    is_sed = program_of(words) in SEDS
    words = tuple(word for n, word in enumerate(words) if word.text or words[n - 1].text != "-i")
    pattern = _IN_PLACE if is_sed else _PERL_IN_PLACE
    if not any(pattern.fullmatch(word.text) for word in words[1:]):
        return
    rest = (words[0], *(word for word in words[1:] if not pattern.fullmatch(word.text) or word.text.endswith("e")))
    options = _split(tuple(_without_in_place(word) for word in rest), SED_LETTERS if is_sed else "eEIM", SED_LONG)
    names = {"-e", "-f", "--expression", "--file"} if is_sed else {"-e", "-E"}
    is_given = any(name in names for name, _ in options.given)
    operands = options.operands if is_given else options.operands[1:]
    yield from (Change("write", word.text) for word in operands)


def _without_in_place(word: Word) -> Word:
    """Return `-e` for `-pie` and `-ie`, whose next word is the script of perl."""
    return Word("-e", "-e") if re.fullmatch(r"-[0-9lnpawsrEuz]*i?e", word.text) else word


def _found(words: tuple[Word, ...]) -> Iterator[Change]:
    """Yield the directories of `find -delete`; a filtered one is `DIRECTORY/{}` too, as not all in it is deleted."""
    if not any(word.text == "-delete" for word in words):
        return
    roots = [root.text for root in roots_of_find(words)]
    is_tree = _ALL_FOUND.issuperset({word.text for word in words[1:]} - set(roots))
    for root in roots:
        yield Change("delete", root, is_tree=is_tree)
        yield Change("delete", f"{root.rstrip('/') or root}/{{}}", is_tree=is_tree)


def _duplicated(words: tuple[Word, ...]) -> Iterator[Change]:
    yield from (Change("write", word.text[3:]) for word in words[1:] if word.text.startswith("of="))


def _output(words: tuple[Word, ...]) -> Iterator[Change]:
    letters, long = _OUTPUTS[program_of(words)]
    options = _split(words, letters, long)
    names = {*(f"-{letter}" for letter in letters), *long}
    yield from (Change("write", value.text) for name, value in options.given if name in names and value is not None)
    if program_of(words) == "patch":
        yield from (Change("write", word.text) for word in options.operands[:1] or [Word("{}", "./{}")])


def _fetched(words: tuple[Word, ...]) -> Iterator[Change]:
    """Yield what curl and wget save: the file of -o, or one that is named as the end of the address."""
    is_curl = program_of(words) == "curl"
    options = _split(words, *(_CURL_VALUED if is_curl else _WGET_VALUED))
    into = options.value(("--output-dir",) if is_curl else ("-P", "--directory-prefix"))
    place = "" if into is None else f"{into.text.rstrip('/')}/"
    outputs = {"-o", "--output"} if is_curl else {"-O", "--output-document"}
    paths = [value.text for name, value in options.given if name in outputs and value is not None]
    names = {name for name, _ in options.given}
    is_named = (
        bool(names & {"-O", "--remote-name", "--remote-name-all"}) if is_curl else not paths and "--spider" not in names
    )
    if is_named:
        matches = [_ADDRESS.fullmatch(word.text) for word in options.operands if word.value is not None]
        paths += [match["name"] for match in matches if match is not None]
        is_known = all(word.value is not None for word in options.operands) and paths
        paths += [] if is_known and not names & {"-J", "-i", "--input-file", "-r", "--recursive"} else ["{}"]
    yield from (Change("write", path if path.startswith(("/", "~", "-")) else place + path) for path in paths)


def _unpacked(words: tuple[Word, ...]) -> Iterator[Change]:
    """Yield `DIRECTORY/{}` for any file below the directory into which an archive is unpacked."""
    is_zip = program_of(words) == "unzip"
    letters, option = ("dxP", "-d") if is_zip else ("CfbHIKTXg", "-C")
    options = _split(words, letters, ("--directory", "--file"))
    if is_zip:
        is_unpacking = not options.has("lptvzZ")
    else:
        first = words[1].text if len(words) > 1 else ""
        is_bundle = not first.startswith("-") and "x" in first.partition("=")[0]
        is_unpacking = is_bundle or options.has("x") or any(name in {"--extract", "--get"} for name, _ in options.given)
    if is_unpacking:
        value = options.value((option, "--directory"))
        yield Change("write", f"{'.' if value is None else value.text.rstrip('/')}/{{}}", is_tree=True)


def _synchronized(words: tuple[Word, ...]) -> Iterator[Change]:
    operands = _split(words, "efTBM").operands
    if len(operands) > 1 and ":" not in operands[-1].text:
        yield Change("write", operands[-1].text)
        is_tree = any(map(_means_contents, (word.text for word in operands[:-1])))
        yield Change("write", f"{operands[-1].text.rstrip('/')}/{{}}", is_tree=is_tree)


def _in_git(words: tuple[Word, ...]) -> Iterator[Change]:
    """Yield what `git mv`, `git rm`, `git apply`, `git checkout` and `git restore` change."""
    verb = words[1].text if len(words) > 1 else ""
    if verb == "mv":
        yield from _copies((Word("mv", "mv"), *words[2:]))
    elif verb == "rm" and not any(word.text == "--cached" for word in words):
        yield from _all_deleted((Word("rm", "rm"), *words[2:]))
    elif verb == "clone":
        operands = _split(words[1:], "bcoju", _CLONE_VALUED).operands
        name = (
            operands[-1].text.rstrip("/").removesuffix(".git").rsplit("/", 1)[-1].rsplit(":", 1)[-1] if operands else ""
        )
        target = operands[1].text.rstrip("/") if len(operands) > 1 else name
        yield from (Change("write", f"{each}/{{}}", is_tree=True) for each in (target,) if each)
    elif verb in {"checkout", "restore"}:
        yield from _restored(words[1:])
    elif verb in {"apply", "am"} and not any(_ONLY_SHOWN.fullmatch(word.text) for word in words):
        yield Change("write", "./{}")


def _restored(words: tuple[Word, ...]) -> Iterator[Change]:
    """Yield the files to which `git checkout` and `git restore` give the text of a commit, or of the index."""
    is_restore = words[0].text == "restore"
    end = next((n for n, word in enumerate(words) if word.text == "--"), len(words))
    options = _split(words[:end], "s" if is_restore else "bB", ("--source", "--orphan", "--conflict"))
    names = {name for name, _ in options.given}
    operands = [word.text for word in options.operands]
    given = options.value(("-s", "--source"))
    source = None if given is None else given.text
    if is_restore and names & {"-S", "--staged"} and not names & {"-W", "--worktree"}:
        return
    is_branch = bool(names & {"-b", "-B", "--orphan", "-t", "--track", "--detach"}) or not _names_files(operands)
    if not is_restore and end == len(words) and is_branch:
        return
    if not is_restore and operands and (end < len(words) or not _is_file(operands[0])):
        source = operands.pop(0)
    source = None if source in _FROM_INDEX else source
    for path in (*operands, *(word.text for word in words[end + 1 :])):
        yield Change("restore", "./{}" if path in _WHOLE_TREE else path, source, is_tree=True)


def _names_files(operands: Sequence[str]) -> bool:
    return len(operands) > 1 or any(map(_is_file, operands))


def _is_file(operand: str) -> bool:
    """Return True if the first operand of `git checkout` is a file, as far as its name tells."""
    return operand in _WHOLE_TREE or (_FILE_NAME.fullmatch(operand) is not None and ":" not in operand)


_FINDERS: Final[Mapping[str, Callable[[tuple[Word, ...]], Iterator[Change]]]] = {
    **dict.fromkeys(("cp", "mv", "ln", "install", "gcp", "gmv", "gln", "ginstall"), _copies),
    **dict.fromkeys(("tee", "sponge", "truncate", "touch", "ed", "ex"), _all_written),
    **dict.fromkeys(("rm", "grm", "rmdir", "unlink", "shred", "trash", "rimraf"), _all_deleted),
    "mkdir": _made,
    **dict.fromkeys((*SEDS, "perl", "ruby"), _edited),
    **dict.fromkeys(("find", "gfind"), _found),
    **dict.fromkeys(_OUTPUTS, _output),
    **dict.fromkeys(("tar", "gtar", "bsdtar", "unzip"), _unpacked),
    **dict.fromkeys(("curl", "wget"), _fetched),
    "dd": _duplicated,
    "rsync": _synchronized,
    "git": _in_git,
}
