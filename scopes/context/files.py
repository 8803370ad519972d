"""Embed the project files that a history touched: current content, each file once and whole, in a code block.

A file that cannot be embedded is reported with the reason (S1-7 to S1-10): outside the project, possibly secret by its
name, missing, binary, too large.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from errno import EFBIG, EINVAL
from typing import NamedTuple

from scopes.context.file_states import has_hash
from scopes.sanitize import escape_file_tags, escape_tags
from scopes.tokens.choose import Tokenizer, prepare_for_room

_MAX_BYTES = 4 << 20
_MAX_FILES = 500
_CONTENT_UNKNOWN = "its content at that time is not known"
_PRIVATE = "may hold secrets, by its name"
_BACKTICKS = re.compile("`+")

_SECRET_DIRECTORIES = frozenset({".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".password-store", "gcloud"})
_BACKUP_SUFFIX = re.compile(r"(?:[._-](?:bak|backup|old|orig|copy|save|local|[0-9]+)|~)+$", re.IGNORECASE)
_TEMPLATE_SUFFIX = re.compile(r"[._-](?:example|sample|template|dist)(?:\.[a-z]+)?$", re.IGNORECASE)
_SECRET_WORDS = re.compile(
    r"(?:^|[._-])(?:secrets?|credentials?|passwords?|passwd|tokens?|auth|service[_-]?account)(?:[._-]|$)", re.IGNORECASE
)
_DATA_FILE = re.compile(r"(?:^[^.]*|\.(?:ya?ml|json|toml|ini|txt|properties|conf|cfg|env|csv|xml))$", re.IGNORECASE)
_SECRET_FILE = re.compile(
    r"\.env(?:rc|\..+)?|.+\.env|id_(?:rsa|dsa|ecdsa|ed25519)(?:_.*)?|.+\.(?:pem|key|p12|pfx|jks|keystore|kdbx|ppk|tfstate|tfvars)"
    r"|\.(?:netrc|npmrc|pypirc|pgpass|git-credentials|htpasswd|vault-token|dockercfg|dockerconfigjson|.*_history)|kubeconfig",
    re.IGNORECASE,
)


class TouchedFile(NamedTuple):
    """A file of the history: the turn that touched it last, and its hash after that turn, if recorded.

    `content` is the recorded content at an earlier message; None if the file is to be read from the project.
    """

    path: str
    turn: int
    content_hash: str | None = None
    content: str | None = None


class EmbeddedFile(NamedTuple):
    """A file that is part of a context; `text` is its heading and code block."""

    path: str
    tokens: int
    turn: int
    text: str


class SkippedFile(NamedTuple):
    """A file that is not part of a context, and why."""

    path: str
    reason: str


@dataclass(slots=True)
class FileSelection:
    """The embedded and skipped files; `large` ones did not fit and may be retried with more room."""

    embedded: list[EmbeddedFile] = field(default_factory=list)
    skipped: list[SkippedFile] = field(default_factory=list)
    large: list[EmbeddedFile] = field(default_factory=list)

    @property
    def used(self) -> int:
        """Return the tokens of all embedded files."""
        return sum(file.tokens for file in self.embedded)


class ReadableFolder(NamedTuple):
    """The directory whose files may be read; an empty path allows none.

    With `as_recorded` a file is embedded only with the content that the history recorded.
    """

    directory: str
    as_recorded: bool = False


def select_files(
    touched: Iterable[TouchedFile], project: ReadableFolder, room: int, tokenizer: Tokenizer
) -> FileSelection:
    """Embed the files that fit, last touched first; after one that does not fit, smaller ones are still tried."""
    selection = FileSelection()
    blocks: list[tuple[TouchedFile, str]] = []
    for position, file in enumerate(_deduplicate(touched, project)):
        text = _content_of(file, project) if position < _MAX_FILES else SkippedFile(file.path, "touched too long ago")
        if isinstance(text, SkippedFile):
            selection.skipped.append(text)
        else:
            blocks.append((file, _block(file, text)))
    prepare_for_room(tokenizer, (block for _, block in blocks), room)
    left = room
    for file, block in blocks:
        embedded = EmbeddedFile(file.path, tokenizer.count(block), file.turn, block)
        if embedded.tokens <= left:
            selection.embedded.append(embedded)
            left -= embedded.tokens
        else:
            selection.large.append(embedded)
    return selection


def retry_large(selection: FileSelection, room: int) -> int:
    """Embed the large files that fit into the room that turns left over; return the tokens that they use."""
    left = room
    for file in selection.large:
        if file.tokens <= left:
            selection.embedded.append(file)
            left -= file.tokens
        else:
            selection.skipped.append(SkippedFile(file.path, f"{file.tokens} tokens did not fit into {left}"))
    selection.large = []
    return room - left


def may_hold_secrets(path: str) -> bool:
    """Return True if a file may hold secrets by its name; templates such as `.env.example` do not."""
    *directories, name = path.split("/")
    name = _BACKUP_SUFFIX.sub("", name)
    if not _SECRET_DIRECTORIES.isdisjoint(directories):
        return True
    if _TEMPLATE_SUFFIX.search(name):
        return False
    if _SECRET_FILE.fullmatch(name):
        return True
    return _SECRET_WORDS.search(name) is not None and _DATA_FILE.search(name) is not None


def _deduplicate(touched: Iterable[TouchedFile], project: ReadableFolder) -> Iterator[TouchedFile]:
    """Yield the first entry of each file; different spellings of a path are the same file (S1-8)."""
    seen: set[str] = set()
    for file in touched:
        name = _resolve(file.path, project) or os.path.normpath(file.path)
        if name not in seen:
            seen.add(name)
            yield file


def _content_of(file: TouchedFile, project: ReadableFolder) -> str | SkippedFile:
    if file.content is None:
        is_unknown = project.as_recorded and file.content_hash is None
        return SkippedFile(file.path, _CONTENT_UNKNOWN) if is_unknown else _read_text(file, project)
    if may_hold_secrets(file.path):
        return SkippedFile(file.path, _PRIVATE)
    return SkippedFile(file.path, "binary") if "\0" in file.content else file.content


def _read_text(file: TouchedFile, project: ReadableFolder) -> str | SkippedFile:
    """Read a file of the project as UTF-8; never block on a pipe or device."""
    full_path = _allowed_path(file.path, project)
    if isinstance(full_path, SkippedFile):
        return full_path
    try:
        data = _read_regular(full_path)
    except (FileNotFoundError, NotADirectoryError):
        return SkippedFile(file.path, "missing")
    except IsADirectoryError:
        return SkippedFile(file.path, "not a regular file")
    except OSError as error:
        return SkippedFile(file.path, error.strerror or "cannot be read")
    if project.as_recorded and not has_hash(data, file.content_hash):
        return SkippedFile(file.path, _CONTENT_UNKNOWN)
    return _decode(file.path, data)


def _allowed_path(path: str, project: ReadableFolder) -> str | SkippedFile:
    """Return the real path of a file that may be read."""
    full_path = _resolve(path, project)
    if full_path is None:
        return SkippedFile(path, "outside the project")
    relative = os.path.relpath(full_path, os.path.realpath(project.directory))
    return SkippedFile(path, _PRIVATE) if may_hold_secrets(path) or may_hold_secrets(relative) else full_path


def _resolve(path: str, project: ReadableFolder) -> str | None:
    """Return the real path of a recorded path; None if it is outside the project or below `.git`."""
    top = os.path.realpath(project.directory)
    if "\0" in path or not project.directory:
        return None
    full_path = os.path.realpath(os.path.join(top, path))
    is_inside = full_path.startswith(os.path.join(top, ""))
    return full_path if is_inside and ".git" not in os.path.relpath(full_path, top).split(os.sep) else None


def _read_regular(path: str) -> bytes:
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as stream:
        status = os.fstat(stream.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise OSError(EINVAL, "not a regular file")
        if status.st_size > _MAX_BYTES:
            raise OSError(EFBIG, f"too large: {status.st_size} bytes")
        return stream.read(_MAX_BYTES)


def _decode(path: str, data: bytes) -> str | SkippedFile:
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return SkippedFile(path, "binary")
    return SkippedFile(path, "binary") if "\0" in text else text


def _block(file: TouchedFile, text: str) -> str:
    """Return heading and code block; the block is fenced with more backticks than any run in the text."""
    fence = "`" * max(3, 1 + max(map(len, _BACKTICKS.findall(text)), default=0))
    body = escape_file_tags(text if text.endswith("\n") or not text else f"{text}\n")
    name = escape_tags(" ".join(file.path.splitlines()))
    when = f"last touched in turn {file.turn}" if file.content is None else f"as recorded up to turn {file.turn}"
    return f"### File {name} ({when})\n\n{fence}\n{body}{fence}\n\n"
