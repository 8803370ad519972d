"""Original files on a remote that no scopes would write: nothing of them is taken, and the conversation is."""

from __future__ import annotations

import json
import os
import re

import pytest

from scopes.errors import Corrupt
from scopes.exporters.export import list_sources, name_files
from scopes.history.names import Revision, list_branch_tips
from scopes.history.sources import NOTHING
from scopes.model import canonical_json
from scopes.store.objects import COMMIT, ObjectsInMemory, find_in_tree, parse_commit, parse_tree
from scopes.store.refs import FETCHED_SOURCES, REMOTE_SOURCES, REMOTES
from scopes.sync.source_check import SourceCheck, check_description
from tests.support.every_byte import find_word
from tests.support.forged_remotes import FILE, FOLDER, LINK, MODULE, PROGRAM, Forger
from tests.support.original_files import exported, files_there, import_session
from tests.support.recalled import recalled
from tests.support.remotes import add, fetch_from, machine, make_bare, push_to
from tests.support.store import git, git_bytes

MARK = b"Xylophone-Smuggled-4711"
WHO = b"scopes <scopes@systems.scopes> 1672531200 +0000"


class FileForger(Forger):
    """Writes original files beside the conversation; parts of them are changed by name."""

    def __init__(self, bare):
        super().__init__(bare)
        (self.files_ref,) = files_there(bare)
        self.set = self.find(self.files_ref)
        self.source = self.find(f"{self.set}^1")
        self.description = json.loads(git(bare, "show", f"{self.source}:source.json"))

    def put(self, oid):
        git(self.bare, "update-ref", self.files_ref, oid)

    def put_source(self, *more, without=(), description=None, parents=(), subject=None):
        """Put a source there with these entries more, or with a changed description."""
        entries = {name: (mode, name, oid) for mode, name, oid in self.entries(self.source)}
        if description is not None:
            data = description if isinstance(description, bytes) else canonical_json.dump(description)
            entries[b"source.json"] = (FILE, b"source.json", self.write("blob", data))
        entries |= {name: (mode, name, oid) for mode, name, oid in more}
        kept = [entries[name] for name in sorted(entries) if name not in without]
        document = self.description if description is None or isinstance(description, bytes) else description
        text = subject or f"demo {document.get('native_id')}: {document.get('size')} bytes"
        source = self.commit(self.tree(*kept), parents, text.encode() + b"\n", WHO)
        self.put_set([source])

    def put_set(self, parents, tree=None, body=b"original files\n"):
        tree = tree or self.find(f"{self.set}^{{tree}}")
        self.put(self.commit(tree, parents, body, WHO))

    def change(self, **fields):
        self.put_source(description={**self.description, **fields})

    def blob(self, data=MARK):
        return self.write("blob", data)

    def folder(self, *entries):
        return self.tree(*entries)


class MemoryForger(FileForger):
    """Does the same on objects in memory: it takes no process."""

    def __init__(self, repository):
        self.objects = ObjectsInMemory(repository)
        (self.set,) = repository.list_refs(REMOTE_SOURCES).values()
        (self.manifest_oid,) = repository.list_refs(REMOTES).values()
        self.root = next(iter(repository.list_refs(REMOTES))).rpartition("/")[2]
        self.tip = list_branch_tips(repository, "conv-001")["main"]
        self.source = self.find(f"{self.set}^1")
        self.description = canonical_json.load(self.objects.read(self.find(f"{self.source}:source.json"))[1])

    def find(self, name):
        commit = parse_commit(name[:40], self.objects.read(name[:40])[1])
        if name[40:] == "^1":
            return commit.parents[0]
        tree = self.objects.read(commit.tree)[1]
        return commit.tree if name[40:] == "^{tree}" else find_in_tree(tree, name[41:]).oid

    def entries(self, tree):
        kind, data = self.objects.read(tree)
        tree = parse_commit(tree, data).tree if kind == COMMIT else tree
        return [
            (FOLDER if each.is_tree else FILE, name.encode(), each.oid)
            for name, each in parse_tree(self.objects.read(tree)[1]).items()
        ]

    def write(self, kind, data):
        return self.objects.write(kind, data)

    def put(self, oid):
        self.set = oid

    def check(self):
        return SourceCheck(self.objects, NOTHING, "").check(self.set, self.root)


@pytest.fixture
@recalled
def sent(repository, bare, tmp_path):
    """A store after a push of a conversation with its original files."""
    add(repository, bare)
    import_session(repository, tmp_path / "session.jsonl", "a b c")
    push_to(repository, with_sources=True)
    return repository


@pytest.fixture
def forger(sent, bare):
    """A remote that has a conversation with original files."""
    return FileForger(bare)


def one_file(forger, name):
    return FOLDER, name, forger.folder((FILE, b"000000", forger.blob()))


def pages(forger, *records):
    lines = b"".join(canonical_json.dump(each) for each in records)
    return FOLDER, b"segments", forger.folder((FILE, b"000000.jsonl", forger.write("blob", lines)))


RECORD = {"offset": 0, "length": 1, "state": "x"}
FORGERIES = {
    "another file in a source": lambda f: f.put_source((FILE, b"zz", f.blob())),
    "another directory in a source": lambda f: f.put_source(one_file(f, b"zz")),
    "no description": lambda f: f.put_source(without={b"source.json"}),
    "a link as description": lambda f: f.put_source((LINK, b"source.json", f.blob(b"/etc/passwd"))),
    "a program as description": lambda f: f.put_source((PROGRAM, b"source.json", f.find(f"{f.source}:source.json"))),
    "a link among the bytes": lambda f: f.put_source((FOLDER, b"chunks", f.folder((LINK, b"000000", f.blob())))),
    "a module among the bytes": lambda f: f.put_source((FOLDER, b"chunks", f.folder((MODULE, b"000000", f.source)))),
    "a name that is no number": lambda f: f.put_source((FOLDER, b"chunks", f.folder((FILE, b"a", f.blob())))),
    "a gap in the numbers": lambda f: f.put_source((FOLDER, b"chunks", f.folder((FILE, b"000001", f.blob())))),
    "other bytes": lambda f: f.put_source(one_file(f, b"chunks")),
    "no bytes": lambda f: f.put_source(without={b"chunks"}),
    "bytes as a file": lambda f: f.put_source((FILE, b"chunks", f.blob())),
    "records as a file": lambda f: f.put_source((FILE, b"segments", f.blob())),
    "a record behind the end": lambda f: f.put_source(pages(f, {**RECORD, "offset": 9999})),
    "a record before the beginning": lambda f: f.put_source(pages(f, {**RECORD, "offset": -1})),
    "a record with another field": lambda f: f.put_source(pages(f, {**RECORD, "path": "/x"})),
    "a record of no message": lambda f: f.put_source(pages(f, {**RECORD, "message": "../x"})),
    "a record with names that are no text": lambda f: f.put_source(pages(f, {**RECORD, "native": [1]})),
    "a record with a text as place": lambda f: f.put_source(pages(f, {**RECORD, "offset": "0"})),
    "a source with an earlier version": lambda f: f.put_source(parents=[f.source]),
    "a source with another subject": lambda f: f.put_source(subject=MARK.decode()),
    "a path": lambda f: f.change(path="/home/carol/x.jsonl"),
    "another field": lambda f: f.change(mark=MARK.decode()),
    "another conversation": lambda f: f.change(root="ab" * 20),
    "a root that is none": lambda f: f.change(root="../../x"),
    "a size that is a truth value": lambda f: f.change(size=True),
    "a long name": lambda f: f.change(native_id="x" * 1001),
    "sessions that are none": lambda f: f.change(sessions=[["k", "../x"]]),
    "a description with blanks": lambda f: f.put_source(description=json.dumps(f.description).encode()),
    "a description that is no object": lambda f: f.put_source(description=b"[]\n"),
    "no source": lambda f: f.put_set([]),
    "a source twice": lambda f: f.put_set([f.source, f.source]),
    "another text in the set": lambda f: f.put_set([f.source], body=b"original files\n\n" + MARK + b"\n"),
    "another file in the set": lambda f: f.put_set(
        [f.source], f.tree(*f.entries(f.find(f"{f.set}^{{tree}}")), (FILE, b"zz", f.blob()))
    ),
    "the set of another root": lambda f: f.put_set(
        [f.source], f.tree((FILE, b"sources.json", f.write("blob", b'{"root":"%s","v":1}\n' % (b"ab" * 20))))
    ),
    "a message as source": lambda f: f.put_set([f.tip]),
    "a manifest": lambda f: f.put(f.manifest_oid),
    "a file": lambda f: f.put(f.blob()),
    "a tree": lambda f: f.put(f.find(f"{f.source}^{{tree}}")),
}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Make such a remote once; return the store that has pushed to it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
        path = tmp_path_factory.mktemp("made")
        store = machine(path / "store", make_bare(path / "bare.git"))
        import_session(store, path / "session.jsonl", "a b c")
        push_to(store, with_sources=True)
    return store


@pytest.mark.parametrize("forgery", FORGERIES)
def test_every_forgery_is_refused(made, forgery):
    forger = MemoryForger(made)
    assert len(forger.check()) == 1
    FORGERIES[forgery](forger)
    with pytest.raises(Corrupt, match=r"the original files of [0-9a-f]{12} are not acceptable: "):
        forger.check()


def test_forgeries_are_refused_for_reasons_of_their_own(made):
    """Else one check would hide that another one is missing."""
    reasons = set()
    for forge in FORGERIES.values():
        forger = MemoryForger(made)
        forge(forger)
        with pytest.raises(Corrupt) as refused:
            forger.check()
        reasons.add(re.sub(r"[0-9a-f]{12,40}", "", refused.value.message))
    assert len(reasons) >= 15


@pytest.mark.parametrize("forgery", FORGERIES)
def test_nothing_is_taken_of_original_files_that_are_not_acceptable(forger, bare, tmp_path, forgery):
    FORGERIES[forgery](forger)
    bob = machine(tmp_path / "bob", bare)
    fetched = fetch_from(bob)
    assert [row.status for row in fetched.conversations] == ["new"]
    assert bob.list_refs(FETCHED_SOURCES, REMOTE_SOURCES) == {}
    assert exported(bob) == {}
    assert find_word(MARK.decode(), bob.path) == []
    assert any("nothing of them was taken" in (note.hint or "") for note in fetched.notes)


def test_what_the_checks_take_is_what_scopes_writes(forger, bare, tmp_path):
    """The forger changes nothing here."""
    forger.put_source()
    assert forger.find(forger.files_ref) == forger.set
    bob = machine(tmp_path / "bob", bare)
    fetch_from(bob)
    assert len(exported(bob)) == 1


def test_what_git_refuses_in_original_files_keeps_no_conversation_from_coming(forger, bare, tmp_path):
    forger.put_source((FOLDER, b".git", forger.folder((FILE, b"config", forger.blob()))))
    bob = machine(tmp_path / "bob", bare)
    fetched = fetch_from(bob)
    assert [row.status for row in fetched.conversations] == ["new"]
    assert bob.list_refs(FETCHED_SOURCES) == {}
    assert "not allowed" in fetched.notes[0].text


def test_original_files_without_their_conversation_are_not_taken(forger, bare, tmp_path):
    """Nothing of them gets into the store, where a purged conversation could come back as objects nobody refers to."""
    git(bare, "update-ref", forger.files_ref.replace(forger.root, "ab" * 20), forger.set)
    bob = machine(tmp_path / "bob", bare)
    fetched = fetch_from(bob)
    assert "and no such conversation" in fetched.notes[-1].text
    assert len(bob.list_refs(FETCHED_SOURCES)) == 1


@pytest.mark.parametrize(
    "name", ["../../etc/passwd", "/etc/passwd", "a/subagents/agent-../../x", "..\\..\\x", "\x1b[2J", ".."]
)
def test_names_in_a_description_never_become_a_place_outside_of_an_export(forger, bare, tmp_path, name):
    """The description is as scopes writes it; the agent's program may have put anything into it."""
    document = {**forger.description, "native_id": name}
    subject = (
        git(bare, "log", "-1", "--format=%s", forger.source).strip().replace("s1", name.replace("\x1b", "\\u001b"))
    )
    check_description(canonical_json.dump(document))
    forger.put_source(description=document, subject=subject)
    bob = machine(tmp_path / "bob", bare)
    fetch_from(bob)
    revision = Revision("conv-001", "main", list_branch_tips(bob, "conv-001")["main"])
    for written, _ in name_files(list_sources(bob, revision)):
        assert ".." not in written.split("/")
        assert not written.startswith("/")
        assert written.isprintable()


def test_bytes_of_a_forged_object_are_not_there(forger, bare):
    """The forger writes into the remote what the tests then look for."""
    forger.put_source((FILE, b"zz", forger.blob()))
    assert git_bytes(bare, "show", f"{forger.files_ref}^1:zz") == MARK
