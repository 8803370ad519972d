"""Format the bytes of a pack and of its index, version 2 (git's format document `gitformat-pack`).

Nothing here reads or writes files.
"""

from __future__ import annotations

import hashlib
import os
import struct
import sys
import zlib
from array import array
from binascii import unhexlify
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import cache, lru_cache, partial
from itertools import accumulate
from types import TracebackType
from typing import Self

from scopes import clock
from scopes.errors import Inaccessible, ScopesError
from scopes.ids import Oid
from scopes.regular_file import sync
from scopes.store.libgit2 import limit_mapped_packs, pygit2, refusal
from scopes.store.objects import BLOB, COMMIT, TREE
from scopes.store.repository import Repository

LARGEST_SHORT_OFFSET = 0x7FFF_FFFF  # the largest offset in 31 bits; larger ones go into a table of 64-bit offsets

_LEVEL = 4  # of zlib
_FAST_LEVEL = 2  # of isal
_STORED_BYTES = 96  # a tree of two entries; deflated it is 5 % smaller
_SHORT_HEAD_SIZES = 1 << 11  # nearly all trees and commits are smaller
_STORED_HEAD = struct.Struct("<HH")
_ADLER = struct.Struct(">I")
_TYPES = {COMMIT: 1, TREE: 2, BLOB: 3}
_KINDS = {number: kind for kind, number in _TYPES.items()}
_PACK_MAGIC = b"PACK"
_PACK_VERSION = 2
_INDEX_MAGIC_AND_VERSION = b"\xfftOc\0\0\0\2"
_LONG_OFFSET = 0x8000_0000


def format_pack_header(count: int) -> bytes:
    """Return the header of a pack of `count` objects, 12 bytes."""
    return struct.pack(">4sII", _PACK_MAGIC, _PACK_VERSION, count)


def format_entry(kind: str, data: bytes) -> bytes:
    """Format an object as an entry of a pack: a varint of type and length, then the deflated data."""
    size = len(data)
    head = _short_head(kind, size) if size < _SHORT_HEAD_SIZES else _entry_head(kind, size)
    return head + (_deflater()(data) if size > _STORED_BYTES else _store(data))


def _entry_head(kind: str, size: int) -> bytes:
    byte = _TYPES[kind] << 4 | size & 0x0F
    size >>= 4
    head = bytearray()
    while size:
        head.append(byte | 0x80)
        byte = size & 0x7F
        size >>= 7
    head.append(byte)
    return bytes(head)


_short_head = lru_cache(maxsize=3 * _SHORT_HEAD_SIZES)(_entry_head)


def _store(data: bytes) -> bytes:
    """Format a zlib stream of one stored block: ids do not deflate, and setting up a deflater costs more than this."""
    size = len(data)
    return b"".join((b"\x78\x01\x01", _STORED_HEAD.pack(size, size ^ 0xFFFF), data, _ADLER.pack(zlib.adler32(data))))


@cache
def _deflater() -> Callable[[bytes], bytes]:
    """Return the function that deflates entries; that of isal, if it is installed, is nine times as fast as zlib.

    An ordinary repack keeps these bytes. Those of isal are a tenth larger than those of zlib. zlib at level 6, its
    default, makes chunks of imported files 7 % and messages 2 % smaller than at level 4, in twice and 1.3 times the
    time; at level 1 they are 19 % and 6 % larger, in 0.7 of it.
    """
    try:
        from isal.isal_zlib import compress as compress_

        compress: Callable[..., bytes] = compress_
    except ImportError:
        return deflate_by_zlib
    return partial(compress, level=_FAST_LEVEL)


def deflate_by_zlib(data: bytes) -> bytes:
    """Deflate without isal."""
    return zlib.compress(data, _LEVEL)


def parse_entry(entry: bytes) -> tuple[str, bytes]:
    """Return kind and data of an entry that is not a delta."""
    start = 1
    while entry[start - 1] & 0x80:
        start += 1
    return _KINDS[entry[0] >> 4 & 0x07], zlib.decompress(memoryview(entry)[start:])


def format_index(
    names: Sequence[bytes],
    offsets: Iterable[int],
    checksums: Iterable[int],
    pack_checksum: bytes,
    *,
    largest_short_offset: int = LARGEST_SHORT_OFFSET,
) -> bytes:
    """Format the index file of the pack that ends in `pack_checksum`.

    `names` are 20 raw bytes each, sorted; offsets and CRC-32 checksums of the entries are in the same order.
    """
    body = b"".join(
        (
            _INDEX_MAGIC_AND_VERSION,
            _count_first_bytes(names),
            b"".join(names),
            _big_endian(array("I", checksums)),
            *_format_offsets(offsets, largest_short_offset),
            pack_checksum,
        )
    )
    return body + hashlib.sha1(body, usedforsecurity=False).digest()


def _format_offsets(offsets: Iterable[int], largest_short_offset: int) -> tuple[bytes, bytes]:
    short: array[int] = array("I")
    long: array[int] = array("Q")
    for offset in offsets:
        if offset > largest_short_offset:
            short.append(_LONG_OFFSET | len(long))
            long.append(offset)
        else:
            short.append(offset)
    return _big_endian(short), _big_endian(long)


def _count_first_bytes(names: Iterable[bytes]) -> bytes:
    """Return, for each possible first byte, how many names begin with it or a smaller one, as big-endian numbers."""
    counts = [0] * 256
    for name in names:
        counts[name[0]] += 1
    return struct.pack(">256I", *accumulate(counts))


def _big_endian(numbers: array[int]) -> bytes:
    if sys.byteorder == "little":
        numbers.byteswap()
    return numbers.tobytes()


DEFAULT_FLUSH_BYTES = 64 << 20

_BLOCK_BYTES = 1 << 20
_SMALL_BYTES = 1 << 12  # copied in less time than a second call for the hash takes
_CREATE = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
_SHA1 = hashlib.sha1(usedforsecurity=False)
_PACK_PREFIX = "tmp_pack_"
_INDEX_PREFIX = "tmp_idx_"
_HEADS = {kind: f"{kind} %d\0".encode() for kind in (BLOB, TREE, COMMIT)}
_OVERHEAD_BYTES = 300  # of dictionaries and name for each remembered object


class PackWriter:
    """Collect objects and write them as packs of about `flush_bytes` at most.

    `exists` tells whether the store has an object; it must see packs that were installed since the store was opened,
    because this class does not remember finished packs. `on_installed` is called after each of them. After a `write` or
    `finish` was interrupted or failed, both raise from then on, so that a caller cannot install an incomplete set of
    objects.
    """

    def __init__(
        self,
        pack_directory: str,
        exists: Callable[[Oid], bool],
        *,
        flush_bytes: int = DEFAULT_FLUSH_BYTES,
        durable: bool = True,
        on_installed: Callable[[], None] = lambda: None,
    ) -> None:
        self._on_installed = on_installed
        self._directory = pack_directory
        self._exists = exists
        self._flush_bytes = flush_bytes
        self._durable = durable
        self._installed: list[str] = []
        self._stopped = False
        self._failure: ScopesError = Inaccessible("writing new objects was interrupted", hint="run the command again")
        self._pack: _TemporaryFile | None = None
        self._index = PackIndex()
        self._recent = _RecentObjects(flush_bytes // 4)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                self.finish()
        finally:
            self.discard()

    def write(self, kind: str, data: bytes) -> Oid:
        """Add an object, unless the store or the current pack has it, and return its id.

        Raises:
            Inaccessible: the disk failed.
        """
        if self._stopped:
            raise self._failure
        name = _name_object(kind, data)
        oid = Oid(name.hex())
        if name in self._index.rows or (not self._refers_to_new(kind, data) and self._exists(oid)):
            return oid
        self._stopped = True
        try:
            self._append(name, kind, data)
        except OSError as error:
            raise self._fail(error) from error
        self._stopped = False
        return oid

    def find(self, oid: Oid) -> tuple[str, bytes] | None:
        """Return kind and data of an object in the current pack; None if it is not in it.

        Raises:
            Inaccessible: the disk failed.
        """
        name = bytes.fromhex(oid)
        if name not in self._index.rows or self._pack is None:
            return None
        remembered = self._recent.find(name)
        if remembered is not None:
            return remembered
        start, end = self._index.read_extent(name, self._pack.size)
        try:
            entry = self._pack.read(start, end)
        except OSError as error:
            raise self._fail(error) from error
        return parse_entry(entry)

    def finish(self) -> tuple[str, ...]:
        """Install the current pack and return the names of all packs installed so far, oldest first.

        Raises:
            Inaccessible: the disk failed.
        """
        self._refuse_when_stopped()
        if self._pack is not None:
            self._stopped = True
            try:
                self._complete(self._pack)
            except OSError as error:
                raise self._fail(error) from error
            self._stopped = False
        return tuple(self._installed)

    def discard(self) -> None:
        """Discard the current pack and remove its file; finished packs stay."""
        if self._pack is not None:
            self._pack.remove()
        self._pack = None
        self._index = PackIndex()
        self._recent = _RecentObjects(self._flush_bytes // 4)

    def _refers_to_new(self, kind: str, data: bytes) -> bool:
        """Return True if the first object that this one refers to is new: then this one is new too.

        This saves most of the lookups in the store, which read the disk for an object that does not exist.
        """
        if kind == COMMIT:
            return unhexlify(data[5:45]) in self._index.rows
        if kind != TREE:
            return False
        end = data.find(b"\0") + 1
        return data[end : end + 20] in self._index.rows

    def _append(self, name: bytes, kind: str, data: bytes) -> None:
        if self._pack is None:
            self._pack = _TemporaryFile(self._directory, _PACK_PREFIX)
            self._pack.append(format_pack_header(0))
        entry = format_entry(kind, data)
        self._index.add(name, self._pack.size, zlib.crc32(entry))
        self._pack.append(entry)
        self._recent.add(name, kind, data)
        if self._pack.size >= self._flush_bytes:
            self._complete(self._pack)

    def _complete(self, pack: _TemporaryFile) -> None:
        try:
            checksum = _seal(pack, len(self._index))
            stem = f"pack-{checksum.hex()}"
            self._install(pack, self._index.format(checksum), os.path.join(self._directory, stem))
            self._installed.append(f"{stem}.pack")
            self._on_installed()
        finally:
            self.discard()

    def _install(self, pack: _TemporaryFile, index: bytes, target: str) -> None:
        with ExitStack() as undo:
            index_file = _TemporaryFile(self._directory, _INDEX_PREFIX)
            undo.callback(index_file.remove)
            index_file.append(index)
            for file in (pack, index_file):
                file.close(durable=self._durable)
            if not os.path.isfile(
                f"{target}.idx"
            ):  # a pack is valid once its index exists, so the index is renamed last
                undo.callback(_remove_without_index, target)
                os.rename(pack.path, f"{target}.pack")
                os.rename(index_file.path, f"{target}.idx")
        if self._durable:
            sync(self._directory)

    def _fail(self, error: OSError) -> ScopesError:
        self.discard()
        self._stopped = True
        self._failure = refusal("write new objects", self._directory, error)
        return self._failure

    def _refuse_when_stopped(self) -> None:
        if self._stopped:
            raise self._failure


def remove_temporary_files(directory: str, process: int) -> None:
    """Remove the unfinished files of a process that has ended."""
    prefixes = tuple(f"{prefix}{process}_" for prefix in (_PACK_PREFIX, _INDEX_PREFIX))
    with suppress(OSError):
        for name in os.listdir(directory):
            if name.startswith(prefixes):
                _unlink(os.path.join(directory, name))


class PackIndex:
    """The objects of one pack in the order in which they were written; `rows` has them by name, 20 raw bytes.

    A dictionary and two arrays take about 170 bytes of memory for each object.
    """

    def __init__(self) -> None:
        self.rows: dict[bytes, int] = {}
        self._offsets: array[int] = array("Q")
        self._checksums: array[int] = array("I")

    def __len__(self) -> int:
        return len(self.rows)

    def add(self, name: bytes, offset: int, checksum: int) -> None:
        """Add an entry that begins at `offset`; `checksum` is the CRC-32 of its bytes in the pack, header included."""
        self.rows[name] = len(self._offsets)
        self._offsets.append(offset)
        self._checksums.append(checksum)

    def read_extent(self, name: bytes, end_of_pack: int) -> tuple[int, int]:
        """Return start and end of the entry of a name that is in this index."""
        row = self.rows[name]
        following = row + 1
        return self._offsets[row], self._offsets[following] if following < len(self._offsets) else end_of_pack

    def format(self, pack_checksum: bytes, *, largest_short_offset: int = LARGEST_SHORT_OFFSET) -> bytes:
        """Format the index file of the pack that ends in `pack_checksum`."""
        names = sorted(self.rows)
        rows = [self.rows[name] for name in names]
        offsets = (self._offsets[row] for row in rows)
        checksums = (self._checksums[row] for row in rows)
        return format_index(names, offsets, checksums, pack_checksum, largest_short_offset=largest_short_offset)


class _TemporaryFile:
    """A new file that is appended to and can be read anywhere; `size` includes buffered bytes."""

    def __init__(self, directory: str, prefix: str) -> None:
        # `git prune` removes old files that begin with tmp_. The mode is that of git, narrowed by the umask.
        self.path = os.path.join(directory, f"{prefix}{os.getpid()}_{clock.random_bytes(8).hex()}")
        self.size = 0
        self._descriptor = os.open(self.path, _CREATE, 0o444)
        self._buffer = bytearray()

    def append(self, data: bytes) -> None:
        self._buffer += data
        self.size += len(data)
        if len(self._buffer) >= _BLOCK_BYTES:
            self._flush()

    def read(self, start: int, end: int) -> bytes:
        if end > self.size - len(self._buffer):
            self._flush()
        return os.pread(self._descriptor, end - start, start)

    def overwrite_start(self, data: bytes) -> None:
        self._flush()
        written = 0
        while written < len(data):
            written += os.pwrite(self._descriptor, data[written:], written)

    def close(self, *, durable: bool) -> None:
        self._flush()
        if durable:
            os.fsync(self._descriptor)
        descriptor, self._descriptor = self._descriptor, -1
        os.close(descriptor)

    def remove(self) -> None:
        """Close and delete the file, whatever its state; a renamed file stays."""
        if self._descriptor >= 0:
            with suppress(OSError):
                os.close(self._descriptor)
            self._descriptor = -1
        _unlink(self.path)

    def _flush(self) -> None:
        with memoryview(self._buffer) as rest:
            written = 0
            while written < len(rest):
                written += os.write(self._descriptor, rest[written:])
        self._buffer.clear()


class _RecentObjects:
    """A cache of the objects written last, up to `limit_bytes`; blobs are dropped first.

    Unlike `RecentObjects` it keeps large objects, because reading a pack that is being written flushes its buffer, and
    it prefers commits and trees, which an import reads again for the next message.
    """

    def __init__(self, limit_bytes: int) -> None:
        self._limit_bytes = limit_bytes
        self._held_bytes = 0
        self._blobs: OrderedDict[bytes, tuple[str, bytes]] = OrderedDict()
        self._links: OrderedDict[bytes, tuple[str, bytes]] = OrderedDict()

    def add(self, name: bytes, kind: str, data: bytes) -> None:
        (self._blobs if kind == BLOB else self._links)[name] = (kind, data)
        self._held_bytes += len(data) + _OVERHEAD_BYTES
        while self._held_bytes > self._limit_bytes:
            _, (_, oldest) = (self._blobs or self._links).popitem(last=False)
            self._held_bytes -= len(oldest) + _OVERHEAD_BYTES

    def find(self, name: bytes) -> tuple[str, bytes] | None:
        return self._links.get(name) or self._blobs.get(name)


def _name_object(kind: str, data: bytes) -> bytes:
    name = _SHA1.copy()  # twice as fast as a new hash
    size = len(data)
    head = _HEADS[kind] % size
    if size <= _SMALL_BYTES:
        name.update(head + data)
    else:
        name.update(head)
        name.update(data)
    return name.digest()


def _seal(pack: _TemporaryFile, count: int) -> bytes:
    """Write the number of objects into the header and the checksum at the end; return the checksum."""
    # The header with the number of objects, known only now, is hashed first, so the file is read again, as
    # `git fast-import` does. That takes 5 ms for 64 MB from the page cache, and hashing 35 ms.
    pack.overwrite_start(format_pack_header(count))
    checksum = hashlib.sha1(usedforsecurity=False)
    for start in range(0, pack.size, _BLOCK_BYTES):
        checksum.update(pack.read(start, min(start + _BLOCK_BYTES, pack.size)))
    pack.append(checksum.digest())
    return checksum.digest()


def _remove_without_index(target: str) -> None:
    if not os.path.isfile(f"{target}.idx"):
        _unlink(f"{target}.pack")


def _unlink(path: str) -> None:
    with suppress(OSError):
        os.unlink(path)


class KnownObjects:
    """The packs and the loose objects of a store; what another process writes meanwhile may be missed."""

    def __init__(self, repository: Repository) -> None:
        self._directory = os.path.join(repository.path, "objects")
        self._packs: pygit2.OdbBackend | None = pygit2.OdbBackendPack(self._directory)
        self._owner: pygit2.Odb | None = pygit2.Odb()  # the packs are closed with it
        self._owner.add_backend(self._packs, 1)
        self._loose: set[str] | None = None

    def has(self, oid: Oid) -> bool:
        """Return True if the store has an object."""
        if self._loose is None:
            self._loose = set()
            for start in os.listdir(self._directory):
                if len(start) == 2:
                    with suppress(FileNotFoundError):
                        self._loose |= {start + rest for rest in os.listdir(os.path.join(self._directory, start))}
        return oid in self._loose or (self._packs is not None and self._packs.exists(oid))

    def look_again(self) -> None:
        """Find the packs that were added since."""
        if self._packs is not None:
            self._packs.refresh()

    def close(self) -> None:
        """Close the packs."""
        self._packs = self._owner = None


class BulkObjects:
    """The objects of a store and of a pack that is being written; the store gets the pack when it is finished."""

    def __init__(self, repository: Repository, writer: PackWriter, directory: str, *, keep: bool) -> None:
        self._repository = repository
        self._writer = writer
        self._directory = directory
        self._keep = keep
        self._recent = repository.recent

    def read(self, oid: Oid) -> tuple[str, bytes]:
        """Return kind and bytes of an object, or raise NotFound or Corrupt."""
        return self._writer.find(oid) or self._repository.read(oid)

    def write(self, kind: str, data: bytes) -> Oid:
        """Add an object to the pack, unless it is already in the store."""
        oid = self._writer.write(kind, data)
        if self._recent.keeps_packed and self._keep:
            self._recent.add(oid, (kind, data))
        return oid

    def finish(self) -> None:
        """Add the objects to the store before the end of the block, unless they are to be discarded.

        Raises:
            Inaccessible: the disk failed.
        """
        if self._keep:
            self._writer.finish()
        else:
            self._writer.discard()

    def remove_temporary_files(self, process: int) -> None:
        """Remove the unfinished packs of a process that was killed."""
        remove_temporary_files(self._directory, process)


@contextmanager
def bulk_objects(repository: Repository, *, keep: bool = True) -> Iterator[BulkObjects]:
    """Collect objects and add them to the store, synced, at the end of the block; none of them if the block fails.

    Without `keep` they are discarded in any case: a dry run. Hold the lock of the store, and move refs only after the
    block. This also limits how much of each pack libgit2 maps into the memory of this process from now on: by default
    it maps whole packs, and it reads them for every ref that it moves.

    Raises:
        Inaccessible: disk full or permission denied.
    """
    limit_mapped_packs()
    directory = os.path.join(repository.path, "objects", "pack")
    known = KnownObjects(repository)  # the lock keeps what is there
    try:
        with PackWriter(directory, known.has, durable=repository.durable, on_installed=known.look_again) as writer:
            yield BulkObjects(repository, writer, directory, keep=keep)
            if not keep:
                writer.discard()
    finally:
        known.close()
