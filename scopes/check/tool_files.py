"""What tools of MCP servers, and of agents without a table, do to files: by the words of their names and arguments.

`mcp__fs__write_file` with `path` writes a file, `move_file` with `source` and `destination` removes one and makes one.
The texts that are written stay unknown. A file of another place, which `owner` and `repo` or an address name, is none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from scopes.lazy_patterns import compile_lazily
from scopes.model.tools import MAX_EDITS, FileEdit

_WORD: Final = compile_lazily(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_PREFIX: Final = compile_lazily(r".*(?:__|[./:])")
_VERBS: Final = {
    **dict.fromkeys(("delete", "remove", "unlink", "rmdir", "trash", "rm"), "delete"),
    **dict.fromkeys(("move", "rename", "mv"), "move"),
    **dict.fromkeys(("copy", "cp", "duplicate"), "copy"),
    **dict.fromkeys(
        ("write", "edit", "create", "append", "save", "replace", "patch", "insert", "update", "modify", "overwrite",
         "touch", "mkdir", "make", "put", "add", "truncate", "chmod", "symlink", "link", "download", "extract", "undo"),
        "edit",
    ),
    **dict.fromkeys(("read", "view", "cat", "open", "show", "load", "head", "tail", "upload", "get", "fetch"), "read"),
}  # fmt: skip
_PATHS: Final = frozenset({"path", "paths", "filepath", "filepaths", "absolutepath", "relativepath", "targetfile",
    "notebookpath", "uri", "outputpath", "savepath", "dirpath", "directorypath", "folderpath", "linkpath",
    "pathinproject"})  # fmt: skip
_NAMES: Final = frozenset({"file", "files", "filename", "filenames", "directory", "dir", "folder", "target", "output"})
_SOURCES: Final = frozenset({"source", "src", "from", "oldpath", "sourcepath", "srcpath", "frompath", "oldname"})
_TARGETS: Final = frozenset(
    {"destination", "dest", "dst", "to", "newpath", "targetpath", "destinationpath", "destpath", "topath", "newname"}
)
_ABOUT_FILES: Final = frozenset({"file", "files", "directory", "dir", "folder", "path", "text", "notebook", "symlink"})
_CONTENTS: Final = frozenset(
    {"file", "files", "text", "notebook", "content", "contents", "source", "code", "body", "lines", "document", "image",
     "media", "bytes", "data", "blob"}
)  # fmt: skip
_VAGUE: Final = frozenset({"get", "fetch", "show", "load", "open", "head", "tail"})  # read only with one of those words
_ELSEWHERE: Final = frozenset({"owner", "repo", "repository", "projectid", "bucket", "url"})


def edits_of_tool(name: str, arguments: Mapping[str, object]) -> tuple[FileEdit, ...]:
    """Return what a tool does to files; nothing if its name has no verb for that, or no argument is a path."""
    keys = {key.replace("_", "").replace("-", "").lower(): value for key, value in arguments.items()}
    words = [word.lower() for word in _WORD.findall(_PREFIX.sub("", name.strip()))]
    verb = next((word for word in words if word in _VERBS), "")
    kind = None if verb in _VAGUE and _CONTENTS.isdisjoint(words) else _VERBS.get(verb)
    command = keys.get("command")  # of an editor: view, create, str_replace
    if isinstance(command, str) and len(command) < 30:
        kind = next((_VERBS[word.lower()] for word in _WORD.findall(command) if word.lower() in _VERBS), kind)
    if kind is None or _ELSEWHERE & {key for key, value in keys.items() if value}:
        return ()
    if kind != "read" and keys.get("dryrun") is True:
        kind = "read"
    names = _PATHS | _NAMES if _ABOUT_FILES & set(words) else _PATHS
    return tuple(_list_edits(kind, keys, names))[:MAX_EDITS]


def _list_edits(kind: str, keys: Mapping[str, object], names: frozenset[str]) -> Iterator[FileEdit]:
    paths = [path for key in keys if key in names for path in _texts(keys[key])]
    sources = [path for key in keys if key in _SOURCES for path in _texts(keys[key])]
    targets = [path for key in keys if key in _TARGETS for path in _texts(keys[key])]
    if kind in {"move", "copy"}:
        sources, targets = (sources or paths), (targets if sources or targets else [])
        yield from (FileEdit(path, "delete" if kind == "move" else "read") for path in sources)
        yield from (FileEdit(path, "create") for path in targets)
    else:
        yield from (FileEdit(path, kind) for path in dict.fromkeys([*paths, *(targets if kind == "edit" else ())]))


def _texts(value: object) -> Iterator[str]:
    """Yield the paths of an argument: a text, a list of texts, or of objects with a path."""
    from urllib.parse import unquote

    for item in value if isinstance(value, list) else [value]:
        each = item
        if isinstance(item, Mapping):
            each = next((item[key] for key in ("path", "file_path", "filePath") if key in item), None)
        if isinstance(each, str) and each and "\n" not in each:
            if each.startswith("file://"):
                yield unquote(each.removeprefix("file://").removeprefix("localhost"))
            elif "://" not in each:
                yield each
