"""Programs that run a file which an earlier command wrote: scripts with a known text, and why others are not known."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from scopes.check.harmless_code import is_harmless
from scopes.check.shell_command import Redirection, Setting
from scopes.check.shell_files import SITE_MODULES, Files, Written
from scopes.check.shell_named_files import find_opaque_named
from scopes.check.shell_scripts import INLINE, Interpreted, interpreted, script_file, shell_options
from scopes.check.shell_startup import find_in_usual_places
from scopes.check.shell_state import MAX_PATH, State, Word, resolve
from scopes.check.shell_wrappers import SHELLS, program_of, split_options
from scopes.lazy_patterns import compile_lazily

Environment = Sequence[tuple[str, str | None]]

_SHEBANG: Final = compile_lazily(r"#!\s*(?:/usr/bin/env\s+(?:-S\s*)?)?(\S+)")
_OWN_SETTINGS: Final = {  # files with commands that a program runs at its start
    "gdb": (".gdbinit",),
    "lldb": (".lldbinit",),
    "sqlite3": (".sqliterc",),
    "psql": (".psqlrc",),
    "tmux": (".tmux.conf",),
    **dict.fromkeys(("vi", "vim", "nvim", "ex", "view"), (".vimrc", ".exrc", "init.vim", "init.lua")),
}
_RUN_FILES: Final = {  # files of the directory that a program runs
    **dict.fromkeys(("make", "gmake"), ("Makefile", "makefile", "GNUmakefile")),
    **dict.fromkeys(("npm", "yarn", "pnpm", "bun"), ("package.json", ".npmrc")),
    "just": ("justfile", "Justfile", ".justfile"),
    "task": ("Taskfile.yml", "Taskfile.yaml"),
    "rake": ("Rakefile",),
    "invoke": ("tasks.py",),
    "nox": ("noxfile.py",),
    "cmake": ("CMakeLists.txt",),
    "ant": ("build.xml",),
    "mvn": ("pom.xml",),
    "gradle": ("build.gradle", "build.gradle.kts"),
    "scons": ("SConstruct",),
    "pre-commit": (".pre-commit-config.yaml",),
    "ninja": ("build.ninja",),
    **_OWN_SETTINGS,
}  # fmt: skip
_OWN_LINE: Final = frozenset(_RUN_FILES) - {
    "make",
    "gmake",
    "ninja",
    *_OWN_SETTINGS,
}  # where only what the same line wrote counts
_HOOKS: Final = frozenset(
    {"pre-commit", "prepare-commit-msg", "commit-msg", "post-commit", "pre-push", "post-checkout", "post-merge",
     "pre-rebase", "post-rewrite", "pre-merge-commit", "applypatch-msg", "pre-applypatch", "post-applypatch",
     "reference-transaction", "post-index-change", "fsmonitor-watchman", "pre-auto-gc", "update", "pre-receive",
     "post-receive", "post-update", "proc-receive", "push-to-checkout"}
)  # fmt: skip
_READING_HOOKS: Final = frozenset({"fsmonitor-watchman"})  # what a command that only reads may run
_READING: Final = frozenset(
    {"blame", "cat-file", "check-attr", "check-ignore", "count-objects", "describe", "diff-tree", "for-each-ref",
     "grep", "log", "ls-files", "ls-tree", "merge-base", "name-rev", "rev-list", "rev-parse", "shortlog", "show",
     "show-ref"}
)  # fmt: skip
_MERGING: Final = frozenset({"merge", "pull", "rebase", "cherry-pick", "revert"})
_HOOK_PLACE: Final = compile_lazily(r"(?:.*/)?(?:hooks|\.husky(?:/_)?|\.?git\w*hooks)")
_RUNNING_MODULES: Final = frozenset({"runpy", "doctest", "pydoc"})  # their operands are programs
_ENTRIES: Final = {
    **dict.fromkeys(("python", "pypy"), ("", "/__main__.py")),
    **dict.fromkeys(("node", "nodejs", "bun"), ("", ".js", ".cjs", ".mjs", "/index.js")),
}  # what is behind the name of a program in its file
_MAX_PLACES: Final = 30  # directories of PYTHONPATH, and packages around a module, that are looked at
_PATTERN: Final = compile_lazily(r"[*?]|\[[^\]/]+\]|\{[^}]*-")  # at the start of a word
_PYTHON: Final = compile_lazily(r"(?:python|pypy)[\d.]*")


class Script(NamedTuple):
    """A file that a command runs with a shell, and that was written.

    program: empty if the file itself is the program
    """

    path: str
    written: Written
    program: str
    arguments: tuple[Word, ...]

    @property
    def wrapper(self) -> str:
        """The command as the wrapper of what the script runs."""
        file = self.arguments[0].text[:60]
        return self.program if self.program in {"source", "."} else f"{self.program} {file}".strip()


def find_script(words: tuple[Word, ...], state: State, environment: Environment) -> Script | None:
    """Return the shell script that a command runs and that was written; None if it runs none."""
    program, files = program_of(words), state.files
    if not words or not (files.written or files.is_full):
        return None
    if program in SHELLS:
        options = shell_options(words[1:])
        operands = (
            () if options.has("cns") or any(name == "--command" for name, _ in options.given) else options.operands
        )
        name = program
    elif program in {"source", "."}:
        operands, name = words[1:], program
    else:
        operands, name = words, ""
    if not operands:
        return None
    path = resolve(state.directory, operands[0].text)
    if not name and "/" not in operands[0].text:
        path = next(_programs_on_path(operands[0].text, state, environment), None)
        path = path or find_in_usual_places(operands[0].text, files)
    written = files.find(path)
    return None if written is None or path is None else Script(path, written, name, operands)


def read_script(script: Script) -> tuple[tuple[str, ...], str | None]:
    """Return the texts that a shell runs in a script, and why there may be others; None if there are none."""
    name = f"{script.program} runs" if script.program else f"{posixpath.basename(script.path)[:60]} is"
    reason = None if script.written.is_known else f"{name} a file that was written before"
    texts = []
    for text in script.written.texts:
        interpreter = "sh" if script.program else _interpreter_of(text)
        language = interpreter.rstrip("0123456789.")
        if interpreter in SHELLS:
            texts.append(text)
        elif language not in INLINE or not is_harmless(language, text):
            reason = reason or f"{interpreter} runs a file that was written before"
    return tuple(texts), reason


def _interpreter_of(text: str) -> str:
    """Return the interpreter that the first line of a script names; `sh` without one."""
    match = _SHEBANG.match(text)
    if match is None:
        return "sh"
    return match[1].rsplit("/", 1)[-1]


def find_opaque_file(
    words: tuple[Word, ...],
    redirections: tuple[Redirection, ...],
    state: State,
    environment: Environment,
    settings: Sequence[Setting] = (),
) -> str | None:
    """Return why it is not known what a command runs: a file, or a module, that was written; None if none was."""
    program, files = program_of(words), state.files
    if program in {"make", "gmake"} and (reason := _opaque_make(words, state)) is not None:
        return reason
    if not words or not (files.written or files.is_full or files.links):
        return None
    language = program.rstrip("0123456789.")
    for path in _interpreted_files(program, words, redirections, state, environment):
        written = files.find(path)
        if written is not None and not (
            written.is_known and language in INLINE and all(is_harmless(language, text) for text in written.texts)
        ):
            return f"{program} runs a file that was written before"
    reason = _opaque_git(words, state, settings) if program == "git" else find_opaque_named(words, redirections, state)
    if files.has_options and any(_PATTERN.match(word.text) for word in words[1:]):
        reason = reason or "a pattern may become an option: a file has such a name"
    if reason is not None:
        return reason
    if program in _RUN_FILES and any(_is_run(program, name, state) for name in _RUN_FILES[program]):
        return f"{program} runs a file that was written before"
    return _opaque_modules(program, words, state, environment)


def _is_run(program: str, name: str, state: State) -> bool:
    written = [state.files.written[path] for path in state.files.find_name(name)]
    return any(program not in _OWN_LINE or each.line == state.files.line for each in written)


def _programs_on_path(name: str, state: State, environment: Environment) -> Iterator[str]:
    """Yield the files that were written and that a name may be, by the directories that the line puts into PATH."""
    found = state.files.find_name(name)
    value = state.variables.get("PATH")
    texts = [text for key, text in environment if key == "PATH"]
    texts += [value.text] if isinstance(value, Word) else []
    if not found or not texts:
        return
    for text in texts:
        for entry in (text or "?$").split(":"):
            if entry in {"$PATH", "${PATH}"}:
                continue
            place = resolve(state.directory, entry or ".")
            yield from (path for path in found if place is None or "$" in place or posixpath.dirname(path) == place)


def _interpreted_files(
    program: str,
    words: tuple[Word, ...],
    redirections: tuple[Redirection, ...],
    state: State,
    environment: Environment,
) -> Iterator[str | None]:
    """Yield the files that an interpreter runs: its script, a module, what it loads first, and its standard input."""
    file = script_file(program, words)
    if file is not None:
        yield resolve(state.directory, file.text)
    found = interpreted(program, words)
    if found is None:
        return
    if found.script is not None:
        for suffix in _ENTRIES.get(program.rstrip("0123456789."), ("",)):
            yield resolve(state.directory, found.script.text + suffix)
    elif not found.texts and found.module is None:
        yield from (resolve(state.directory, each.target) for each in redirections if each.kind == "read")
    if found.module is not None:
        yield from _module_files(found, state, environment)
    for each in found.loaded:
        for suffix in ("", ".js", ".mjs", ".cjs", ".rb"):
            yield resolve(state.directory, each.text + suffix)


def _module_files(found: Interpreted, state: State, environment: Environment) -> Iterator[str | None]:
    """Yield the files that `python -m` runs: of the module, and of its operands if it runs those."""
    if found.module is not None:
        base = found.module.text.replace(".", "/")
        packages = [base[:end] for end, char in enumerate(base[:MAX_PATH]) if char == "/"][:_MAX_PLACES]
        names = [
            f"{base}.py",
            f"{base}/__main__.py",
            f"{base}/__init__.py",
            *(f"{each}/__init__.py" for each in packages),
        ]
        for place in ("", *_python_path(state, environment)):
            yield from (resolve(state.directory, f"{place}/{name}" if place else name) for name in names)
        for word in found.operands if found.module.text in _RUNNING_MODULES else ():
            yield resolve(state.directory, word.text)
            yield resolve(state.directory, f"{word.text.replace('.', '/')}.py")


def _opaque_make(words: tuple[Word, ...], state: State) -> str | None:
    rest = words[1:]
    while rest:
        options = split_options(rest, "CfIjlLoWE", ("--directory", "--file", "--makefile", "--eval", "--include-dir"))
        for name, value in options.given:
            if value is None or name not in {"-f", "--file", "--makefile"}:
                continue
            if value.text.startswith("$"):
                return "make runs a file that the shell computes"
            if state.files.find(resolve(state.directory, value.text)) is not None:
                return "make runs a file that was written before"
        rest = options.operands[1:]
    return None


def _opaque_git(words: tuple[Word, ...], state: State, settings: Sequence[Setting]) -> str | None:
    if _writes_hook(_hooks_of(words), state.files, state.directory, settings):
        return "git may run a hook that was written before"
    verb = words[1].text if len(words) > 1 else ""
    if verb == "rebase" and state.files.find_name("git-rebase-todo"):
        return "git rebase runs commands of a file that was written before"
    is_strategy = verb in _MERGING and any(name.startswith("git-merge-") for name in state.files.names)
    is_program = bool(verb) and (is_strategy or state.files.find_name(f"git-{verb}"))
    return "git runs a program that was written before" if is_program else None


def _hooks_of(words: tuple[Word, ...]) -> frozenset[str]:
    """Return the names of the hooks that a command of git may run."""
    if [word.value for word in words[1:3]] == ["hook", "run"]:
        return _HOOKS | {word.text for word in words[3:]}
    return _READING_HOOKS if len(words) > 1 and words[1].value in _READING else _HOOKS


def _writes_hook(names: frozenset[str], files: Files, directory: str | None, settings: Sequence[Setting]) -> bool:
    """Return True if a file that git may run as a hook was written."""
    known = {resolve(directory, value) for key, value, _ in settings if key == "core.hookspath"}
    for name in names & files.names.keys():
        for path in files.find_name(name):
            place = posixpath.dirname(path)
            if files.written[path].line == files.line or _HOOK_PLACE.fullmatch(place) or place in known:
                return True
    places = ((link.rpartition("/")[2], link.rpartition("/")[0]) for link in files.links)
    return any(name in names and (_HOOK_PLACE.fullmatch(place) or place in known) for name, place in places)


def _python_path(state: State, environment: Environment) -> list[str]:
    """Return the directories of PYTHONPATH."""
    value = state.variables.get("PYTHONPATH")
    texts = [text or "?" for name, text in environment if name == "PYTHONPATH"]
    texts += [value.text] if isinstance(value, Word) and not texts else []
    return [entry or "." for text in texts for entry in text.split(":")][:_MAX_PLACES]


def _opaque_modules(program: str, words: tuple[Word, ...], state: State, environment: Environment) -> str | None:
    """Return why python may import a file that was written instead of a module of its library."""
    if not state.files.modules:
        return None
    places = {resolve(state.directory, entry) for entry in _python_path(state, environment)}
    places |= {place for place in state.files.modules if place.endswith("-packages")}
    is_python = _PYTHON.fullmatch(program) is not None
    if is_python:
        found = interpreted(program, words)
        script = None if found is None else found.script
        own = resolve(state.directory, script.text if script is not None else "x")
        places.add(None if own is None else posixpath.dirname(own))
    found_there = {stem for place in places if place is not None for stem in state.files.modules.get(place, ())}
    stem = next((each for each in sorted(found_there) if is_python or each in SITE_MODULES), None)
    return None if stem is None else f"{program} imports a file that was written before: {stem}"
