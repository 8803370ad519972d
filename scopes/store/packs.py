"""Write many objects at once, as packs and their indexes of version 2 (git's format document `gitformat-pack`).

This is for what writes thousands of objects under the lock, such as an import: loose objects would take a file and a
sync each. Everything else writes with `Repository.write`, and libgit2 reads what is written here.
"""

from __future__ import annotations

import hashlib
import os
import struct
import sys
import zlib
from array import array
from binascii import unhexlify
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cache, partial
from itertools import accumulate
from types import TracebackType
from typing import Self

from scopes import clock
from scopes.errors import Inaccessible
from scopes.ids import Oid
from scopes.regular_file import sync
from scopes.store.objects import BLOB, CODES, COMMIT, KINDS, TREE, limit_mapped_packs, refusal, translated
from scopes.store.repository import Repository

FLUSH_BYTES = 64 << 20  # of a pack; so offsets have 31 bits, and an index needs no table of longer ones
_STORED_BYTES = 96  # a tree of two entries; deflated it is 5 % smaller
_STORED_HEAD = struct.Struct("<HH")
_ADLER = struct.Struct(">I")
_BLOCK_BYTES = 1 << 20
_CREATE = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
_PACK_PREFIX, _INDEX_PREFIX = "tmp_pack_", "tmp_idx_"  # `git prune` removes old files that begin with tmp_
_OVERHEAD_BYTES = 300  # of dictionary and name for each remembered object


def format_entry(kind: str, data: bytes) -> bytes:
    """Format an object as an entry of a pack: a varint of type and length, then the deflated data."""
    size = len(data)
    byte = CODES[kind] << 4 | size & 0x0F
    size >>= 4
    head = bytearray()
    while size:
        head.append(byte | 0x80)
        byte = size & 0x7F
        size >>= 7
    head.append(byte)
    return bytes(head) + (_deflater()(data) if len(data) > _STORED_BYTES else _store(data))


def _store(data: bytes) -> bytes:
    """Format a zlib stream of one stored block: ids do not deflate, and setting up a deflater costs more than this."""
    size = len(data)
    return b"".join((b"\x78\x01\x01", _STORED_HEAD.pack(size, size ^ 0xFFFF), data, _ADLER.pack(zlib.adler32(data))))


@cache
def _deflater() -> Callable[[bytes], bytes]:
    """Return the function that deflates entries; that of isal, if it is installed, is nine times as fast as zlib.

    An ordinary repack keeps these bytes. Those of isal are a tenth larger than those of zlib.
    """
    try:
        from isal.isal_zlib import compress

        return partial(compress, level=2)
    except ImportError:
        return partial(zlib.compress, level=4)


def parse_entry(entry: bytes) -> tuple[str, bytes]:
    """Return kind and data of an entry that is not a delta."""
    start = 1
    while entry[start - 1] & 0x80:
        start += 1
    return KINDS[entry[0] >> 4 & 0x07], zlib.decompress(memoryview(entry)[start:])


class PackIndex:
    """The objects of one pack in the order in which they were written; `rows` has them by name, 20 raw bytes."""

    def __init__(self) -> None:
        self.rows: dict[bytes, int] = {}
        self._offsets: array[int] = array("Q")  # a discarded pack may be of any size
        self._checksums: array[int] = array("I")

    def add(self, name: bytes, offset: int, checksum: int) -> None:
        """Add an entry that begins at `offset`; `checksum` is the CRC-32 of its bytes in the pack, header included."""
        self.rows[name] = len(self._offsets)
        self._offsets.append(offset)
        self._checksums.append(checksum)

    def find_extent(self, name: bytes, end_of_pack: int) -> tuple[int, int]:
        """Return start and end of the entry of a name that is in this index."""
        row = self.rows[name]
        return self._offsets[row], self._offsets[row + 1] if row + 1 < len(self._offsets) else end_of_pack

    def format(self, pack_checksum: bytes) -> bytes:
        """Format the index file of the pack that ends in `pack_checksum`."""
        names = sorted(self.rows)
        rows = [self.rows[name] for name in names]
        counts = [0] * 256  # of the names that begin with each byte
        for name in names:
            counts[name[0]] += 1
        columns = [array("I", map(column.__getitem__, rows)) for column in (self._checksums, self._offsets)]
        if sys.byteorder == "little":
            for column in columns:
                column.byteswap()
        tables = (b"".join(names), *(column.tobytes() for column in columns), pack_checksum)
        body = b"\xfftOc\0\0\0\2" + struct.pack(">256I", *accumulate(counts)) + b"".join(tables)
        return body + hashlib.sha1(body, usedforsecurity=False).digest()


class PackWriter:
    """Collect objects and write them as packs of about `flush_bytes` at most.

    `exists` tells whether the store has an object; it must see packs that were installed since the store was opened,
    because this class does not remember finished packs. After a `write` or `finish` was interrupted or failed, both
    raise from then on, so that a caller cannot install an incomplete set of objects.
    """

    def __init__(
        self,
        pack_directory: str,
        exists: Callable[[Oid], bool],
        *,
        flush_bytes: int = FLUSH_BYTES,
        durable: bool = True,
    ) -> None:
        self._directory = pack_directory
        self._exists = exists
        self._flush_bytes = flush_bytes
        self._durable = durable
        self._installed: list[str] = []
        self._has_failed = False
        self._forget_pack()

    def _forget_pack(self) -> None:
        self._pack: _TemporaryFile | None = None
        self._index = PackIndex()
        self._recent: dict[bytes, tuple[str, bytes]] = {}
        self._recent_bytes = 0

    def __enter__(self) -> Self:
        """Return the writer."""
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
        """Add an object, unless the store or the current pack has it, and return its id."""
        name = hashlib.sha1(b"%s %d\0" % (kind.encode(), len(data)) + data, usedforsecurity=False).digest()
        oid = Oid(name.hex())
        if name in self._index.rows or (not self._refers_to_new(kind, data) and self._exists(oid)):
            return oid
        with self._stopping_on_failure():
            if self._pack is None:
                self._pack = _TemporaryFile(self._directory, _PACK_PREFIX)
                self._pack.append(struct.pack(">4sII", b"PACK", 2, 0))
            entry = format_entry(kind, data)
            self._index.add(name, self._pack.size, zlib.crc32(entry))
            self._pack.append(entry)
            self._remember(name, kind, data)
            if self._pack.size >= self._flush_bytes:
                self._complete(self._pack)
        return oid

    def find(self, oid: Oid) -> tuple[str, bytes] | None:
        """Return kind and data of an object in the current pack; None if it is not in it."""
        name = bytes.fromhex(oid)
        if name not in self._index.rows or self._pack is None:
            return None
        remembered = self._recent.get(name)
        if remembered is not None:
            return remembered
        with self._stopping_on_failure():
            return parse_entry(self._pack.read(*self._index.find_extent(name, self._pack.size)))

    def finish(self) -> tuple[str, ...]:
        """Install the current pack and return the names of all packs installed so far, oldest first."""
        with self._stopping_on_failure():
            if self._pack is not None:
                self._complete(self._pack)
        return tuple(self._installed)

    def discard(self) -> None:
        """Discard the current pack and remove its file; finished packs stay."""
        if self._pack is not None:
            self._pack.remove()
        self._forget_pack()

    @contextmanager
    def _stopping_on_failure(self) -> Iterator[None]:
        if self._has_failed:
            raise Inaccessible("writing new objects was interrupted", hint="run the command again")
        self._has_failed = True
        try:
            yield
        except OSError as error:
            self.discard()
            raise refusal("write new objects", self._directory, error) from error
        self._has_failed = False

    def _refers_to_new(self, kind: str, data: bytes) -> bool:
        """Return True if the first object that this one refers to is new: then this one is new too."""
        if kind == COMMIT:
            return unhexlify(data[5:45]) in self._index.rows
        if kind != TREE:
            return False
        end = data.find(b"\0") + 1
        return data[end : end + 20] in self._index.rows

    def _remember(self, name: bytes, kind: str, data: bytes) -> None:
        """Keep a commit or tree in memory: an import reads it for the next message, and the file has a buffer."""
        if kind != BLOB:
            self._recent_bytes += len(data) + _OVERHEAD_BYTES
            if self._recent_bytes > self._flush_bytes // 4:
                self._recent, self._recent_bytes = {}, len(data) + _OVERHEAD_BYTES
            self._recent[name] = kind, data

    def _complete(self, pack: _TemporaryFile) -> None:
        """Install the pack, then its index: a pack is valid once that exists."""
        index = None
        try:
            checksum = pack.seal(len(self._index.rows))
            target = os.path.join(self._directory, f"pack-{checksum.hex()}")
            index = _TemporaryFile(self._directory, _INDEX_PREFIX)
            index.append(self._index.format(checksum))
            for file in (pack, index):
                file.close(durable=self._durable)
            os.rename(pack.path, f"{target}.pack")
            os.rename(index.path, f"{target}.idx")
            if self._durable:
                sync(self._directory)
            self._installed.append(f"pack-{checksum.hex()}.pack")
        finally:
            if index is not None:
                index.remove()
            self.discard()


class _TemporaryFile:
    """A new file that is appended to and can be read anywhere; `size` includes buffered bytes."""

    def __init__(self, directory: str, prefix: str) -> None:
        # The mode is that of git, narrowed by the umask.
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

    def seal(self, count: int) -> bytes:
        """Write the number of objects into the header of a pack, and the checksum at its end; return the checksum."""
        self._flush()
        number = struct.pack(">I", count)
        if os.pwrite(self._descriptor, number, 8) != len(number):
            raise OSError("the header of a pack was not written")
        checksum = hashlib.sha1(usedforsecurity=False)
        for start in range(0, self.size, _BLOCK_BYTES):
            checksum.update(self.read(start, min(start + _BLOCK_BYTES, self.size)))
        self.append(checksum.digest())
        return checksum.digest()

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


def _unlink(path: str) -> None:
    with suppress(OSError):
        os.unlink(path)


class BulkObjects(PackWriter):
    """The objects of a store and of a pack that is being written; the store gets the pack when it is finished."""

    def __init__(self, repository: Repository, directory: str, *, keep: bool) -> None:
        super().__init__(directory, repository.has, durable=repository.durable)
        self._repository = repository
        self._keep = keep

    def read(self, oid: Oid) -> tuple[str, bytes]:
        """Return kind and bytes of an object, or raise NotFound or Corrupt."""
        return self.find(oid) or self._repository.read(oid)

    def _complete(self, pack: _TemporaryFile) -> None:
        if self._keep:
            super()._complete(pack)

    def remove_temporary_files(self, process: int) -> None:
        """Remove the unfinished packs of a process that was killed."""
        prefixes = tuple(f"{prefix}{process}_" for prefix in (_PACK_PREFIX, _INDEX_PREFIX))
        with suppress(OSError):
            for name in os.listdir(self._directory):
                if name.startswith(prefixes):
                    _unlink(os.path.join(self._directory, name))


@contextmanager
def bulk_objects(repository: Repository, *, keep: bool = True) -> Iterator[BulkObjects]:
    """Collect objects and add them to the store, synced, at the end of the block; none of them if the block fails.

    Without `keep` they are discarded in any case: a dry run, whose pack is among the temporary files. Otherwise hold
    the lock of the store, and move refs only after the block.
    """
    limit_mapped_packs()
    directory = os.path.join(repository.path, "objects", "pack")
    with ExitStack() as stack:
        if not keep:
            from tempfile import TemporaryDirectory, gettempdir

            with translated("make a temporary pack", gettempdir()):
                directory = stack.enter_context(TemporaryDirectory(prefix="scopes-"))
        yield stack.enter_context(BulkObjects(repository, directory, keep=keep))
