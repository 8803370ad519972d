"""The files that a history touched, as they are now: each once, whole, fenced; or why not (S1-7 to S1-10)."""

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

_LARGEST_BYTES = 4 << 20
_MOST_FILES = 500
_UNKNOWN = "its content at that time is not known"
_PRIVATE = "may hold secrets, by its name"
_TICKS = re.compile("`+")


class TouchedFile(NamedTuple):
    """A file of the history, with the turn that touched it last and, where known, the hash of what it became then.

    `content` is what it contained at an earlier message, where that was asked for and is known.
    """

    path: str
    turn: int
    content_hash: str | None = None
    content: str | None = None


class EmbeddedFile(NamedTuple):
    """A file that is part of a context."""

    path: str
    tokens: int
    turn: int
    text: str


class SkippedFile(NamedTuple):
    """A file that is not, and why."""

    path: str
    reason: str


@dataclass(slots=True)
class FileSelection:
    """What became of the files; `large` did not fit and may be tried again."""

    embedded: list[EmbeddedFile] = field(default_factory=list)
    skipped: list[SkippedFile] = field(default_factory=list)
    large: list[EmbeddedFile] = field(default_factory=list)

    @property
    def used(self) -> int:
        """The tokens of all embedded files."""
        return sum(file.tokens for file in self.embedded)


class Project(NamedTuple):
    """Where files may be read: below `directory` alone, nowhere where that is empty.

    `as_recorded` is only as what the history says they became.
    """

    directory: str
    as_recorded: bool = False


def select_files(touched: Iterable[TouchedFile], project: Project, room: int, tokenizer: Tokenizer) -> FileSelection:
    """Embed the files, the last touched first; where one does not fit, smaller ones are still tried."""
    chosen = FileSelection()
    blocks: list[tuple[TouchedFile, str]] = []
    for position, file in enumerate(_each_once(touched, project)):
        text = _text_of(file, project) if position < _MOST_FILES else SkippedFile(file.path, "touched too long ago")
        if isinstance(text, SkippedFile):
            chosen.skipped.append(text)
        else:
            blocks.append((file, _block(file, text)))
    prepare_for_room(tokenizer, (block for _, block in blocks), room)
    left = room
    for file, block in blocks:
        embedded = EmbeddedFile(file.path, tokenizer.count(block), file.turn, block)
        if embedded.tokens <= left:
            chosen.embedded.append(embedded)
            left -= embedded.tokens
        else:
            chosen.large.append(embedded)
    return chosen


def _each_once(touched: Iterable[TouchedFile], project: Project) -> Iterator[TouchedFile]:
    """Yield each file at its first place, whatever ways there are to write its path (S1-8)."""
    seen: set[str] = set()
    for file in touched:
        name = locate(file.path, project) or os.path.normpath(file.path)
        if name not in seen:
            seen.add(name)
            yield file


def retry_large(chosen: FileSelection, room: int) -> int:
    """Embed of the files that did not fit those that fit into what others left over, and return what that costs."""
    left = room
    for file in chosen.large:
        if file.tokens <= left:
            chosen.embedded.append(file)
            left -= file.tokens
        else:
            chosen.skipped.append(SkippedFile(file.path, f"{file.tokens} tokens did not fit into {left}"))
    chosen.large = []
    return room - left


def locate(path: str, project: Project) -> str | None:
    """Return where a recorded path leads to in the project, links followed; None where it leads out of it."""
    top = os.path.realpath(project.directory)
    if "\0" in path or not project.directory:
        return None
    full = os.path.realpath(os.path.join(top, path))
    inside = full.startswith(os.path.join(top, ""))
    return full if inside and ".git" not in os.path.relpath(full, top).split(os.sep) else None


def _allowed(path: str, project: Project) -> str | SkippedFile:
    """Return where a recorded path leads to, if that may be read."""
    full = locate(path, project)
    if full is None:
        return SkippedFile(path, "outside the project")
    inside = os.path.relpath(full, os.path.realpath(project.directory))
    return SkippedFile(path, _PRIVATE) if may_hold_secrets(path) or may_hold_secrets(inside) else full


def read_text(file: TouchedFile, project: Project) -> str | SkippedFile:
    """Read a file of the project as text, without ever waiting for one that is none."""
    full = _allowed(file.path, project)
    if isinstance(full, SkippedFile):
        return full
    try:
        data = _read_regular(full)
    except (FileNotFoundError, NotADirectoryError):
        return SkippedFile(file.path, "missing")
    except IsADirectoryError:
        return SkippedFile(file.path, "not a regular file")
    except OSError as error:
        return SkippedFile(file.path, error.strerror or "cannot be read")
    if project.as_recorded and not has_hash(data, file.content_hash):
        return SkippedFile(file.path, _UNKNOWN)
    return _decode(file.path, data)


def _text_of(file: TouchedFile, project: Project) -> str | SkippedFile:
    if file.content is None:
        unknown = project.as_recorded and file.content_hash is None
        return SkippedFile(file.path, _UNKNOWN) if unknown else read_text(file, project)
    if may_hold_secrets(file.path):
        return SkippedFile(file.path, _PRIVATE)
    return SkippedFile(file.path, "binary") if "\0" in file.content else file.content


def _read_regular(path: str) -> bytes:
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as stream:
        status = os.fstat(stream.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise OSError(EINVAL, "not a regular file")
        if status.st_size > _LARGEST_BYTES:
            raise OSError(EFBIG, f"too large: {status.st_size} bytes")
        return stream.read(_LARGEST_BYTES)


def _decode(path: str, data: bytes) -> str | SkippedFile:
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return SkippedFile(path, "binary")
    return SkippedFile(path, "binary") if "\0" in text else text


def _block(file: TouchedFile, text: str) -> str:
    """Fence a text with more ticks than it has anywhere."""
    fence = "`" * max(3, 1 + max(map(len, _TICKS.findall(text)), default=0))
    ended = escape_file_tags(text if text.endswith("\n") or not text else f"{text}\n")
    name = escape_tags(" ".join(file.path.splitlines()))
    when = f"last touched in turn {file.turn}" if file.content is None else f"as recorded up to turn {file.turn}"
    return f"### File {name} ({when})\n\n{fence}\n{ended}{fence}\n\n"


_DIRECTORIES = frozenset({".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".password-store", "gcloud"})
_BACKUP = re.compile(r"(?:[._-](?:bak|backup|old|orig|copy|save|local|[0-9]+)|~)+$", re.IGNORECASE)
_TEMPLATE = re.compile(r"[._-](?:example|sample|template|dist)(?:\.[a-z]+)?$", re.IGNORECASE)
_WORDS = re.compile(
    r"(?:^|[._-])(?:secrets?|credentials?|passwords?|passwd|tokens?|auth|service[_-]?account)(?:[._-]|$)", re.IGNORECASE
)
_DATA = re.compile(r"(?:^[^.]*|\.(?:ya?ml|json|toml|ini|txt|properties|conf|cfg|env|csv|xml))$", re.IGNORECASE)
_FILE = re.compile(
    r"\.env(?:rc|\..+)?|.+\.env|id_(?:rsa|dsa|ecdsa|ed25519)(?:_.*)?|.+\.(?:pem|key|p12|pfx|jks|keystore|kdbx|ppk|tfstate|tfvars)"
    r"|\.(?:netrc|npmrc|pypirc|pgpass|git-credentials|htpasswd|vault-token|dockercfg|dockerconfigjson|.*_history)|kubeconfig",
    re.IGNORECASE,
)


def may_hold_secrets(path: str) -> bool:
    """Tell by its name whether a file may hold secrets; what is called an example holds none."""
    *directories, name = path.split("/")
    plain = _BACKUP.sub("", name)
    if not _DIRECTORIES.isdisjoint(directories):
        return True
    if _TEMPLATE.search(plain):
        return False
    return _FILE.fullmatch(plain) is not None or (_WORDS.search(plain) is not None and _DATA.search(plain) is not None)
