"""Change a configuration file of another program: everything else in it stays, and the change can be undone.

JSON is read and written again, so a file with comments is refused. The file from before the first change is kept
next to it. A change is
taken back byte for byte if nothing else has changed since: if the same change of the kept file gives the present one.
The file is replaced in one step, and only if it is still what was read, because its program may write it too.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import Any, Literal, NamedTuple, TypeAlias

from scopes.errors import Busy, Inaccessible, Refused
from scopes.part_files import lock_part, part_of, remove_parts
from scopes.regular_file import read_regular

State: TypeAlias = Literal["added", "replaced", "unchanged", "removed", "absent", "shown"]
Change: TypeAlias = Callable[[str], str]
BEFORE, BEFORE_CHANGE = ".before-scopes", ".before-scopes-change"  # the ends of the names of kept files
_SHOW = "show what to add: --dry-run"
_ADD_YOURSELF = "it may have comments, which would be lost; add the entry yourself: --dry-run"
_MAX_BYTES = 64 << 20
_MAX_DIGITS = 300  # of an integer; Python refuses to convert more than some thousand
_MARK = secrets.token_hex(16)  # before a number that Python would write in another way, so that its text stays
_NUMBER = re.compile(f'"{_MARK}([^"]*)"')


class FileChange(NamedTuple):
    """What was done to one file.

    text: the entry as it is in the file, or was
    backup: the file as it was before; None if it did not exist or was not changed
    """

    file: str
    state: State
    text: str = ""
    backup: str | None = None

    def document(self) -> dict[str, object]:
        """Return the JSON object."""
        known = {"file": self.file, "state": self.state, "entry": self.text, "backup": self.backup}
        return {name: value for name, value in known.items() if value}


def read_to_change(path: str) -> str | None:
    """Return the text of a file that will be changed, as `read_text`; what a killed process left next to it goes."""
    for final in (os.path.realpath(path), backup_of(path), _copy_of(path)):
        remove_parts(final)
    return read_text(path)


def read_text(path: str) -> str | None:
    """Return the text of a configuration file; None if there is none.

    Raises:
        Inaccessible: it cannot be read.
        Refused: it is not UTF-8.
    """
    try:
        return read_regular(path, _MAX_BYTES).decode("utf-8")
    except FileNotFoundError:
        return None
    except OSError as error:
        raise Inaccessible(f"cannot read {path}: {error.strerror}", hint=_SHOW) from error
    except UnicodeDecodeError as error:
        raise Refused(f"{path} is not UTF-8", hint=_SHOW) from error


def require_inside(path: str, project: str) -> None:
    """Raise Refused if links, which may be somebody else's in a project, lead to a file outside of it."""
    real = os.path.realpath(path)
    if not real.startswith(os.path.join(os.path.realpath(project), "")):
        raise Refused(f"{path} is outside of the project: a link leads to {real}", hint="delete the link")


def parse_json(text: str | None, path: str) -> dict[str, Any]:
    """Return the object in a JSON file; an empty one for an empty or missing file.

    Raises:
        Refused: it is something else, or writing it again would lose something.
    """
    if text is None or not text.strip():
        return {}
    if text.startswith("\ufeff"):
        raise Refused(f"{path} begins with a byte order mark", hint="save it without one")
    try:
        document = json.loads(text, object_pairs_hook=_unique, parse_int=_integer, parse_float=_float)
        json.dumps(document, ensure_ascii=False).encode()  # half of a surrogate pair cannot be written
    except (ValueError, RecursionError) as error:
        raise Refused(f"{path} is not plain JSON: {error}", hint=_ADD_YOURSELF) from error
    if not isinstance(document, dict):
        raise Refused(f"{path} is not a JSON object", hint=_SHOW)
    return document


def format_json(document: Mapping[str, Any]) -> str:
    """Return the text of a JSON file; a number that was read is written as it was."""
    return _NUMBER.sub(r"\1", json.dumps(document, indent=2, ensure_ascii=False)) + "\n"


def find_object(document: dict[str, Any], keys: Sequence[str], path: str) -> dict[str, Any]:
    """Return the object at a path of keys, which is made if there is none.

    Raises:
        Refused: something else is there.
    """
    found: Any = document
    for key in keys:
        found = found.setdefault(key, {})
        if not isinstance(found, dict):
            raise Refused(f"{key!a} in {path} is not an object", hint=_SHOW)
    result: dict[str, Any] = found
    return result


@contextmanager
def advise_removal(what: str) -> Iterator[None]:
    """Name the entry to remove in the hint of an error, where that is about adding it."""
    try:
        yield
    except (Refused, Inaccessible) as error:
        if error.hint in {_SHOW, _ADD_YOURSELF}:
            error.hint = f"remove it yourself: {what}"
        raise


def save(path: str, before: str | None, after: str, *, keep: bool = True) -> str | None:
    """Replace the text of a file, which was `before`, and keep that; return the path of the kept file.

    Permissions stay, and a symbolic link stays one. Without `keep`, an earlier kept file stays: it has no entry of
    ours.

    Raises:
        Busy: another program has changed the file meanwhile.
        Inaccessible: a permission is missing, or the disk is full.
    """
    final = os.path.realpath(path)
    backup = backup_of(path)
    try:
        os.makedirs(os.path.dirname(final), exist_ok=True)
        mode = 0o600 if before is None else stat.S_IMODE(os.stat(final).st_mode)
        if keep and before is not None:
            _write(backup, before, mode)
        elif keep:
            _remove(backup)  # of an earlier file of this name
        _write(final, after, mode, lambda: _require_unchanged(path, before))
    except OSError as error:
        raise Inaccessible(f"cannot write {path}: {error.strerror}", hint=_SHOW) from error
    return backup if keep and before is not None else None


def take_back(path: str, current: str, change: Change, removed: str) -> str | None:
    """Undo a change of a file: restore the bytes of before if only this change was made since, else write `removed`.

    A file that the change has made is deleted. Returns the path of the kept file; None if nothing need be kept.

    Raises:
        Busy, Inaccessible: as `save`.
    """
    backup = backup_of(path)
    kept = read_kept(backup)
    if kept is not None and _gives(change, kept, current):
        save(path, current, kept, keep=False)
        _remove(backup)
        return None
    if kept is None and _gives(change, "", current):
        delete(path, current)
        return None
    return save(path, current, removed)


def delete(path: str, before: str) -> None:
    """Delete a file, which was `before`.

    Raises:
        Busy, Inaccessible: as `save`.
    """
    _require_unchanged(path, before)
    try:
        os.unlink(os.path.realpath(path))
    except OSError as error:
        raise Inaccessible(f"cannot delete {path}: {error.strerror}", hint="delete it") from error


def _gives(change: Change, before: str, after: str) -> bool:
    try:
        return before != after and change(before) == after
    except Refused:
        return False


def backup_of(path: str) -> str:
    """Return the path of the file as it was before the first entry of ours."""
    return os.path.realpath(path) + BEFORE


def keep_copy(path: str, text: str) -> str:
    """Write the present text of a file next to it, because a change loses more than our entry; return the path.

    The file from before the first entry stays as it is.

    Raises:
        Inaccessible: a permission is missing, or the disk is full.
    """
    copy = _copy_of(path)
    try:
        _write(copy, text, stat.S_IMODE(os.stat(path).st_mode))
    except OSError as error:
        raise Inaccessible(f"cannot write {copy}: {error.strerror}", hint=_SHOW) from error
    return copy


def kept_texts(path: str) -> list[str]:
    """Return the texts of the files that were kept next to a file, the newest change first."""
    return [text for text in map(read_kept, (_copy_of(path), backup_of(path))) if text is not None]


def forget_copy(path: str) -> None:
    """Delete what `keep_copy` has written, because the file has it again."""
    _remove(_copy_of(path))


def _copy_of(path: str) -> str:
    return os.path.realpath(path) + BEFORE_CHANGE


def read_kept(path: str) -> str | None:
    """Return the text of a file that was kept; None if there is none that can be read."""
    try:
        return read_text(path)
    except (Inaccessible, Refused):
        return None


def _require_unchanged(path: str, before: str | None) -> None:
    if read_text(path) != before:
        raise Busy(f"{path} was changed by another program meanwhile", hint="repeat the command")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse an object with a repeated key: writing it again would lose a value."""
    document = dict(pairs)
    if len(document) < len(pairs):
        raise ValueError("a key is repeated")
    return document


def _integer(text: str) -> int | str:
    return _MARK + text if text == "-0" or len(text) > _MAX_DIGITS else int(text)


def _float(text: str) -> float | str:
    return float(text) if repr(float(text)) == text else _MARK + text


def _write(path: str, text: str, mode: int, check: Callable[[], None] = lambda: None) -> None:
    """Write a file in one step; `check` is called directly before the old one is replaced."""
    temporary = part_of(path)
    with ExitStack() as cleanup:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        cleanup.callback(_remove, temporary)
        with open(descriptor, "w", encoding="utf-8", newline="") as file:
            lock_part(descriptor)
            os.fchmod(descriptor, mode)  # whatever the umask is
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
            check()
            os.replace(temporary, path)
        cleanup.pop_all()


def _remove(path: str) -> None:
    with suppress(OSError):
        os.unlink(path)
