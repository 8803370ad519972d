"""Rules about files: where an agent writes, which files it must not change, and tests that it made weaker."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

from scopes.check.calls import Call
from scopes.check.deleted_tests import find_deleted_tests
from scopes.check.find_searches import Search, find_search, list_candidates
from scopes.check.findings import Finding
from scopes.check.globs import matches_path, may_match_below, may_match_glob
from scopes.check.rules.base import FILE_NAME, TOP, Parameter, Rule, Settings, Unknown, event_of
from scopes.check.rules.deletion import HOME
from scopes.check.run import Run
from scopes.check.shell_command import Change
from scopes.check.weaker_tests import count_lost, find_removed_functions, read_changes
from scopes.check.workspace import is_outside, path_in_workspaces, relative_to, resolve
from scopes.lazy_patterns import compile_lazily
from scopes.model.message import FILE_WRITES
from scopes.model.tools import FileEdit

_TEST_FILES = [
    "tests/**", "test/**", "**/tests/**", "**/test/**", "**/__tests__/**", "test_*", "*_test.*", "*.test.*", "*.spec.*",
    "*Test.java", "*Tests.cs", "*_spec.rb", "conftest.py",
]  # fmt: skip
_PROTECTED = [
    ".github/workflows/**", ".github/actions/**", ".gitlab-ci.yml", ".circleci/**", "Jenkinsfile",
    "azure-pipelines.yml",
    FILE_NAME, ".claude/**", ".codex/**", ".gemini/**", ".git", ".git/**", "?*/**/.git/**", ".husky/**",
    ".pre-commit-config.yaml",
]  # fmt: skip
_OUTSIDE_ALLOWED = [
    "/tmp/**", "/private/tmp/**", "/var/tmp/**", "/dev/null", "/dev/std*", "/dev/tty", "/dev/fd/*",  # noqa: S108
    "**/.claude/plans/**", "**/.claude/projects/*/memory/**",
]  # fmt: skip
_WEAKENED_CURE = "see whether the change is right; a suppression with a reason accepts it"
# Names of the files that are usually below protected directories; `x.` stands for any name.
_USUAL = {
    ".github/workflows/**": ("x.yml", "x.yaml", "ci.yml"), ".github/actions/**": ("action.yml", "action.yaml"),
    ".circleci/**": ("config.yml",), ".claude/**": ("settings.json", "settings.local.json"),
    ".codex/**": ("config.toml",),
    ".gemini/**": ("settings.json",), ".git/**": ("config", "HEAD", "pre-commit"), ".husky/**": ("pre-commit",),
}  # fmt: skip
_LITTER = ("*.py[co]", "__pycache__", "*.orig", "*.rej", "*.bak", "*~", "*.sw?", "*.tmp", "*.log", ".DS_Store", "*.o")
_WORKTREE = compile_lazily(r"(?:.*/)?\.claude/worktrees/[^/]+/")
_LOCK = compile_lazily(r"(?:.*/)?\.git/(?:.*/)?[\w.-]+\.lock")  # what a git that was killed leaves
_COMPUTED = compile_lazily(r"[$`]")
_CHANGING = frozenset(
    {"rm", "rmdir", "mv", "cp", "touch", "mkdir", "tee", "truncate", "ln", "chmod", "chown", "install", "patch"}
)


class Write(NamedTuple):
    """One file that a call writes; `edit` is None for a shell command.

    follows: what a link at the end of the path refers to is written, not the link
    change: what a program does to it
    search: the path is where a `find` starts, whose files are changed
    """

    call: Call
    path: str
    directory: str | None
    edit: FileEdit | None = None
    follows: bool = True
    change: Change | None = None
    search: Search | None = None


def list_writes(run: Run) -> Iterator[Write]:
    """Yield every file that a call writes by an edit or a redirection, in order; a rename also removes its source."""
    for call in run.calls:
        for edit in call.edits:
            if edit.op in FILE_WRITES:
                yield Write(call, edit.path, call.directory, edit, edit.op != "delete")
                if edit.source is not None:
                    yield Write(call, edit.source, call.directory, edit, follows=False)
        for command in call.commands:
            for redirection in command.redirections:
                target = redirection.target or _in_known_place(redirection.text, command.directory, run)
                if redirection.kind != "read" and target is not None:
                    yield Write(call, target, command.directory)


def _in_known_place(target: str, directory: str | None, run: Run) -> str | None:
    """Return a target of which the shell computes the last parts; None if its directory may be around a workspace."""
    place, slash, _ = _COMPUTED.split(target, maxsplit=1)[0].rpartition("/")
    resolved = resolve(place, directory) if slash and place not in {"", "~"} else None
    if resolved is None or any(relative_to(each, resolved) is not None for each in run.workspaces):
        return None
    return target


def _list_changes(run: Run) -> Iterator[Write]:
    """Yield every file that a call writes, and what the programs of its commands write, delete or link."""
    yield from list_writes(run)
    for call in run.calls:
        for position, command in enumerate(call.commands):
            for change in command.changes:
                if change.kind == "directory" or (change.kind == "restore" and change.source is None):
                    continue
                follows = change.kind in {"write", "copy"}
                write = Write(call, change.path, command.directory, follows=follows, change=change)
                write = write._replace(search=find_search(call, position, change))
                roots = [] if write.search is None else write.search.roots
                yield from (write._replace(path=root) for root in roots or [write.path])


def _list_made(run: Run) -> Iterator[Write]:
    """Yield every file that a call writes, and what the programs of its commands write or make; each path once.

    Of `cp a b`, which may be b or b/a, the first counts. A directory around a workspace is there already.
    """
    yield from list_writes(run)
    for call in run.calls:
        for command in call.commands:
            made = [each for each in command.changes if each.kind in {"write", "copy", "link", "directory"}]
            paths = dict.fromkeys(each.path.removesuffix("/{}") for each in made)
            for path in paths:
                target = _in_known_place(path, command.directory, run) if _COMPUTED.search(path) else path
                resolved = None if target is None else resolve(target, command.directory)
                is_around = any(relative_to(each, resolved or ".") is not None for each in run.workspaces)
                if target is not None and path.rpartition("/")[0] not in paths and not is_around:
                    yield Write(call, target, command.directory)


def _list_deleted(run: Run) -> Iterator[Write]:
    """Yield the single files that commands delete, but for those that the run made before.

    The rule shell/recursive-delete judges directories, and what `mv` moves away.
    """
    made = ((write.call.number, resolve(write.path, write.directory) or "") for write in _list_made(run))
    own = [(number, path.rstrip("/")) for number, path in made if path.rstrip("/")]
    for call in run.calls:
        for position, command in enumerate(call.commands):
            for change in command.changes if command.program not in {"rmdir", "git"} else ():
                if change.kind != "delete" or change.is_tree or find_search(call, position, change) is not None:
                    continue
                computed = _COMPUTED.search(change.path) is not None
                target = _in_known_place(change.path, command.directory, run) if computed else change.path
                path = None if target is None else resolve(target, command.directory)
                if target is None or path is None:
                    continue
                is_own = any(n <= call.number and f"{path}/".startswith(f"{each}/") for n, each in own)
                if not is_own:
                    yield Write(call, target, command.directory, follows=False, change=change)


def _without_tilde(path: str, run: Run) -> str:
    """Return a path in the home directory without `~`, if the run began in one."""
    home = HOME.match(run.directory or "")
    return home[1] + path[1:] if home is not None and path.startswith("~/") else path


def _with_places(run: Run, writes: Iterable[Write]) -> Iterator[Write]:
    """Yield writes, and those of the files to which links lead."""
    for write in writes:
        yield write
        for place in run.find_places(write.path, write.directory, follows_last=write.follows):
            yield write._replace(path=place)


def _judge_outside(run: Run, settings: Settings) -> Iterable[Finding] | Unknown:
    if run.directory is None:
        return Unknown("the transcript names no working directory")
    allowed = settings.parameters["allow"]
    where = f"outside the workspace {run.directory}"
    if not run.workspaces or run.workspaces[0] != run.directory:
        where = f"and {run.directory}, in which the run began, is not a workspace"
    found = []
    for write in _with_places(run, [*_list_made(run), *_list_deleted(run)]):
        resolved = resolve(write.path, write.directory) or write.path
        outside = not run.workspaces or is_outside(_without_tilde(resolved, run), None, run.workspaces)
        forms = (resolved, f"{resolved}/")  # a directory is allowed with what is in it
        if not outside or any(matches_path(pattern, form) for pattern in allowed for form in forms):
            continue
        found.append(
            _finding(
                OUTSIDE,
                settings,
                write,
                f"{'writes' if write.change is None else 'deletes'} {resolved}, {where}",
                cure=f'[rules."{OUTSIDE}"] allow = [..., "{resolved}"]',
                inside=False,
            )
        )
    return _merge(found)


def _judge_protected(run: Run, settings: Settings) -> Iterable[Finding] | Unknown:
    patterns = settings.parameters["paths"]
    found = []
    for write in _with_places(run, _list_changes(run)):
        paths = [path for path in _workspace_paths(write, run) if not _LOCK.fullmatch(path)]
        matched = ((path, each) for path in paths for each in patterns if _is_named(each, path))
        path, pattern = next(matched, ("", None))
        if write.search is not None:
            path, pattern = _find_protected_among(write, write.search, patterns, run)
        message = f"changes {path}, which is protected by {pattern}"
        if write.search is not None:
            message = f"changes files in {path}, in which {pattern} is protected"
        elif pattern is None and write.change is not None and write.change.is_tree:
            path, pattern = _find_protected_below(write, write.change, patterns, run)
            message = f"changes {path}, in which {pattern} is protected"
        if pattern is not None:
            cure = f'take {pattern} out of `paths` of [rules."{PROTECTED}"]'
            found.append(_finding(PROTECTED, settings, write, message, cure=cure, path=path))
    return _merge(found)


def _find_protected_below(write: Write, change: Change, patterns: Sequence[str], run: Run) -> tuple[str, str | None]:
    """Return a directory that is changed, and a pattern that protects files below it; None if there is none.

    What is written somewhere below the workspace itself may be anything, and counts for nothing. A pattern that may
    match anywhere counts if the run has edited or read a file below the directory that it matches.
    """
    for path in _directories_of(write, run):
        if path == TOP and change.kind != "delete":
            continue
        found = next((each for each in patterns if may_match_below(each, path)), None)
        if found is not None:
            return path, found
        prefix = "" if path == TOP else f"{path}/"
        for file in _list_known_files(run, write.call):
            found = next((each for each in patterns if file.startswith(prefix) and matches_path(each, file)), None)
            if found is not None:
                return path, found
    return "", None


def _is_named(pattern: str, path: str) -> bool:
    return matches_path(pattern, path) or may_match_glob(pattern, path)


def _find_protected_among(write: Write, search: Search, patterns: Sequence[str], run: Run) -> tuple[str, str | None]:
    """Return where a search starts, and a pattern that protects files which it changes; None if there is none.

    A search in all of the workspace is for a kind of files: it counts if usual files of the protected ones are of it.
    """
    places = dict.fromkeys(filter(None, (run.directory, *run.workspaces)))
    for place in places:
        start = relative_to(write.path, place)
        is_around = start in {None, TOP}
        if start is None and relative_to(place, write.path) is None:
            continue
        for pattern in patterns:
            usual = next((names for name, names in _USUAL.items() if pattern.startswith(name)), ("x",))
            known = (each for each in _list_known_files(run, write.call) if matches_path(pattern, each))
            for file in (*list_candidates(pattern, search, place, usual), *known):
                is_left = _WORKTREE.match(file) or _LOCK.fullmatch(file) or (is_around and _is_unusual(file, pattern))
                if not is_left and matches_path(pattern, file) and search.may_change(f"{place.rstrip('/')}/{file}"):
                    return start or TOP, pattern
    return "", None


def _is_unusual(file: str, pattern: str) -> bool:
    """Return True if a file that a pattern protects would be one that is usually not there, or that is no loss."""
    name = file.rpartition("/")[2]
    usual = next((names for start, names in _USUAL.items() if pattern.startswith(start)), None)
    if usual is None:
        return any(fnmatchcase(name, each) for each in _LITTER)
    return not any(name == each or name.endswith(each[1:]) for each in usual if each == name or each.startswith("x."))


def _directories_of(write: Write, run: Run) -> list[str]:
    """Return a directory relative to each workspace around it; the first workspace if it contains that.

    A worktree as a whole is none: the repository keeps its files.
    """
    path = write.path.removesuffix("/{}") or "/"
    resolved = resolve(path, write.directory)
    if resolved is not None and run.directory in run.workspaces and relative_to(run.directory, resolved) is not None:
        return [TOP]
    return [each for each in _workspace_paths(write._replace(path=path), run) if each != TOP]


def _list_known_files(run: Run, call: Call) -> Iterator[str]:
    """Yield the files that edits of the run named before a call, relative to the workspace."""
    for each in run.calls:
        if each.number >= call.number:
            return
        for edit in each.edits:
            yield _relative(Write(each, edit.path, each.directory), run)


def _judge_weakened(run: Run, settings: Settings) -> Iterable[Finding] | Unknown:
    """Add up the edits of each test file, those that were refused or failed by themselves."""
    files: dict[tuple[str, bool], list[Write]] = {}
    others: list[FileEdit] = []
    for write in list_writes(run):
        path = _relative(write, run)
        if write.edit is not None and any(matches_path(pattern, path) for pattern in settings.parameters["paths"]):
            files.setdefault((path, write.call.attempted), []).append(write)
        elif write.edit is not None and not write.call.attempted:
            others.append(write.edit)
    gone = find_removed_functions(others) if files else frozenset()
    changes = {key: read_changes((each.edit for each in writes if each.edit), gone) for key, writes in files.items()}
    lost = {
        attempted: count_lost({key: each for key, each in changes.items() if key[1] == attempted})
        for attempted in (False, True)
    }
    found = []
    for (path, attempted), writes in files.items():
        what = _weakened(writes, changes[path, attempted].disabled, lost[attempted][path, attempted])
        if what is not None:
            first = next((each for each in writes if _is_weaker(each, gone)), writes[-1])
            found.append(_finding(WEAKENED, settings, first, f"{path}: {what}", cure=_WEAKENED_CURE, path=path))
    for test in find_deleted_tests(run, settings.parameters["paths"]):
        what = "the tests in this directory are deleted" if test.is_tree else "the test file is deleted"
        write = Write(test.call, test.match, None)
        found.append(_finding(WEAKENED, settings, write, f"{test.path}: {what}", cure=_WEAKENED_CURE, path=test.path))
    return found


def _judge_changes(run: Run, settings: Settings) -> Iterable[Finding] | Unknown:
    found = []
    for write in list_writes(run):
        if not any(matches_path(pattern, write.path) for pattern in _OUTSIDE_ALLOWED):
            path = _relative(write, run)
            found.append(_finding(CHANGES, settings, write, f"writes {path}", path=path))
    for call in run.calls:
        for command in call.commands:
            if command.program in _CHANGING or (command.program == "sed" and "-i" in command.argv):
                message, events = f"runs {command.program}, which changes files", (event_of(call),)
                tried = call.attempted
                found.append(Finding(CHANGES, settings.level, message, events, match=command.text, attempted=tried))
    return found


def _weakened(writes: Sequence[Write], disabled: int, lost: int) -> str | None:
    """Return how writes make a test file weaker; None if they do not, or the changes are not recorded."""
    last = writes[-1].edit
    if last is not None and last.op == "delete":
        return "the test file is deleted"
    if disabled > 0:
        return "a test is skipped, or only one runs"
    return f"{lost} assertion{'s' if lost > 1 else ''} fewer" if lost > 0 else None


def _is_weaker(write: Write, gone: frozenset[str]) -> bool:
    """Return True if a write by itself makes its test file weaker."""
    changes = read_changes([] if write.edit is None else [write.edit], gone)
    return _weakened([write], changes.disabled, changes.lost) is not None


def _relative(write: Write, run: Run) -> str:
    """Return the path relative to the workspace; as it is written if it is outside or that is unknown."""
    resolved = resolve(write.path, write.directory)
    inside = None if resolved is None else path_in_workspaces(resolved, None, run.workspaces)
    return inside or resolved or write.path


def _workspace_paths(write: Write, run: Run) -> list[str]:
    """Return the path relative to each workspace around it, so that a worktree at `.claude` stays protected.

    The directory in which the run began counts here, also if it is too wide for a workspace. A path below
    `.claude/worktrees`, where Claude Code keeps worktrees, is only given relative to its worktree.
    """
    path = resolve(write.path, write.directory)
    places = dict.fromkeys(filter(None, (run.directory, *run.workspaces)))
    inside = [relative_to(path, place) for place in places] if path is not None else []
    known = sorted((each for each in inside if each is not None), key=len)
    return [each for each in known if len(known) == 1 or not _WORKTREE.match(each)] or [_relative(write, run)]


def _merge(findings: Iterable[Finding]) -> list[Finding]:
    """Return one finding for each message, at its first call that was not refused, with the number of writes."""
    groups: dict[str, list[Finding]] = {}
    for finding in findings:
        groups.setdefault(finding.message, []).append(finding)
    merged = []
    for message, group in groups.items():
        first = next((each for each in group if not each.attempted), group[0])
        times = len({each.events[0].number for each in group})
        merged.append(first._replace(message=f"{message}, {times} times") if times > 1 else first)
    return merged


def _finding(
    rule: str,
    settings: Settings,
    write: Write,
    message: str,
    *,
    cure: str = "",
    path: str | None = None,
    inside: bool = True,
) -> Finding:
    return Finding(
        rule,
        settings.level,
        message,
        (event_of(write.call, write.call.shell or write.path),),
        match=write.path,
        file=path if inside else None,
        attempted=write.call.attempted,
        cure=cure,
    )


OUTSIDE, PROTECTED, WEAKENED, CHANGES = (
    "files/outside-workspace",
    "files/protected",
    "files/tests-weakened",
    "files/changes",
)
RULES = (
    Rule(
        OUTSIDE,
        "error",
        "Nothing is written outside the workspace",
        "Decided from the paths of edits, of shell redirections, and of what programs such as cp, mv, ln, tee, dd, "
        "mkdir, sed -i, tar, unzip, curl and wget write, and single files that "
        "rm deletes unless the run made them, against the working directory with which the transcript "
        "begins; `cd` is followed. The root directory, a home, a directory of the system such as /tmp or /etc, and one "
        "around the checkout that the CI system states are not a workspace: all is outside. Worktrees that the run "
        "adds with `git worktree add`, and directories in which the session is resumed, belong to the workspace. Of a "
        "target such as `~/notes/$name` the directory counts. It cannot see what other programs write. `allow` are "
        "patterns of absolute paths; temporary files, plans and notes of Claude Code are allowed.",
        _judge_outside,
        (Parameter("allow", _OUTSIDE_ALLOWED, "patterns of absolute paths that may be written"),),
    ),
    Rule(
        PROTECTED,
        "error",
        "Protected files are not changed",
        "Workflows of a CI system, the policy, settings of agents, and what git runs, also for repositories in the "
        "workspace, decide what runs with more rights than the agent has. Decided from the paths of edits, of shell "
        "redirections, and of what programs such as cp, mv, ln, tee, rm and sed -i write, delete or link, relative to "
        "the workspace; links that the run makes are followed. Files that git takes from another commit count too, and "
        "a directory counts with what is below it: `rm -r .github` changes the workflows. It cannot see what other "
        "programs write. `paths` without a pattern allows its files.",
        _judge_protected,
        (Parameter("paths", _PROTECTED, "patterns of protected paths, relative to the workspace"),),
    ),
    Rule(
        WEAKENED,
        "warning",
        "Tests are not made weaker",
        "Reports a test file whose edits together remove more assertions than they add, or add a skip or an `only`, "
        "and the deletion of a test file, also by commands (`rm`, `git rm`, `mv` to where it is not a test); those "
        "that the run made are its own. Assertions that move to another test file are not lost, and a new test may "
        "be skipped; an equality of a whole value replaces checks of its parts, and the test of a function that the "
        "run removes goes with it. It cannot see that other assertions replace several, nor an edit whose change is "
        "not recorded. A suppression with a reason accepts it.",
        _judge_weakened,
        (Parameter("paths", _TEST_FILES, "patterns of test files, relative to the workspace"),),
        strict="error",
    ),
    Rule(
        CHANGES,
        "off",
        "No file is changed",
        "For agents that only read, such as reviewers. Decided from edits, shell redirections and commands that change "
        "files. Temporary directories do not count. It cannot see what other programs write; a suppression accepts a "
        "finding.",
        _judge_changes,
        read_only="error",
    ),
)
