"""What scripts may rely on of the newer commands: the rows in a pipe, documents, exit codes, silence, empty stores.

The golden files hold the rows: ids are named in the order of their appearance.
"""

from __future__ import annotations

import json

import pytest

from scopes.cli.schemas import read_schemas
from tests import schemas
from tests.cli.contract import COMMANDS, CONV, WRITES, masked, path_of, run_on_terminal, words_of
from tests.cli.conversation import Conversation
from tests.cli.test_script_fields import with_options

jsonschema = pytest.importorskip("jsonschema")
EVERY = {name: (words, code) for name, (words, code, _) in COMMANDS.items()} | {
    name: (words, 0) for name, words in WRITES.items()
}
every_command = pytest.mark.parametrize("name", EVERY)


def words_in(world, name):
    """Return the words of a command and its exit code."""
    words, code = EVERY[name]
    return words_of(world, words), code


def documents_of(world, *words, code=0):
    """Return the documents that a command prints."""
    done = world.run_main(*with_options(words, "--json"))
    assert done.returncode == code, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@every_command
def test_the_rows_in_a_pipe_are_exactly_these(world, golden, name):
    words, code = words_in(world, name)
    shown = world.run(*words, code=code)
    golden(f"{name.replace(' --', '-').replace(' ', '-')}.txt", masked(shown))


@every_command
def test_json_is_a_document_of_the_packaged_schema(world, name):
    words, code = words_in(world, name)
    stored = read_schemas()
    found = documents_of(world, *words, code=code)
    assert found
    for document in found:
        kind = schemas.MESSAGE if "message_kind" in document and "kind" in document else document["kind"]
        assert kind in stored["commands"][" ".join(path_of(name))]["documents"]
        jsonschema.Draft202012Validator(stored["documents"][kind]).validate(document)
        assert document["scopes"] == 1


@pytest.mark.parametrize("name", EVERY)
def test_json_has_no_note_or_hint_between_its_lines(world, name):
    words, code = words_in(world, name)
    done = world.run_main(*with_options(words, "--json"))
    assert done.returncode == code
    assert all(line.startswith('{"scopes":1,') for line in done.stdout.splitlines())
    assert done.stdout.endswith("}\n")


@pytest.mark.parametrize("name", EVERY)
def test_quiet_leaves_the_rows_and_writes_nothing_else(world, name):
    words, code = words_in(world, name)
    done = world.run_main(*with_options(words, "--quiet"))
    assert (done.returncode, done.stderr) == (code, "")
    assert done.stdout


@pytest.mark.parametrize("name", COMMANDS)
def test_what_is_read_is_the_same_every_time_and_changes_nothing(world, name):
    words, code = words_in(world, name)
    before = world.run("operations", "-a", "--json")
    assert world.run(*words, code=code) == world.run(*words, code=code)
    assert world.run("operations", "-a", "--json") == before


def everything_in(world):
    """Return what the writing commands of the table can change, as documents."""
    commands = (("show", CONV), ("mr", "list", "--state", "all"), ("decisions", CONV, "--candidates"))
    return [world.run(*words, "--json") for words in commands]


@pytest.mark.parametrize("name", WRITES)
def test_what_is_written_is_undone_in_one_step(world, name):
    before = everything_in(world)
    world.run(*words_of(world, WRITES[name]))
    assert everything_in(world) != before
    world.run("undo")
    assert everything_in(world) == before


@pytest.fixture
def empty(tmp_path):
    """A conversation without a message, in a store of its own."""
    return Conversation(tmp_path)


NOTHING = {
    "mr list": (("mr", "list"), "merge_requests"),
    "mr list of a conversation": (("mr", "list", CONV, "--state", "all"), "merge_requests"),
    "decisions": (("decisions", CONV), "decisions"),
    "decisions --candidates": (("decisions", CONV, "--candidates"), "candidates"),
    "conflicts list": (("conflicts", "list"), "conflicts"),
    "conflicts list --all": (("conflicts", "list", CONV, "--all"), "conflicts"),
    "range-diff": (("range-diff", f"{CONV}/main", f"{CONV}/main"), "pairs"),
}


@pytest.mark.parametrize("name", NOTHING)
def test_nothing_is_no_row_and_an_empty_list(empty, name):
    words, key = NOTHING[name]
    field = empty.run(*words, "--json=").splitlines()[0]
    for options in ((), ("-z",), ("--quiet",), ("--format", f"{{{field}}}")):
        assert empty.run(*words, *options) == "", options
    (document,) = documents_of(empty, *words)
    assert document[key] == []


@pytest.mark.parametrize("name", NOTHING)
def test_nothing_on_a_terminal_is_a_sentence_and_no_error(empty, name):
    words, _ = NOTHING[name]
    code, shown, errors = run_on_terminal(empty, *words)
    assert (code, errors) == (0, "")
    assert shown.strip()


def test_a_log_without_messages_is_empty(empty):
    assert empty.run("log", CONV) == ""
    assert documents_of(empty, "log", CONV) == []


REFUSED = {
    "a merge request that does not exist": (("mr", "show", CONV, "9"), 4, "not-found"),
    "a merge request in no known state": (("mr", "list", "--state", "stale"), 2, "invalid"),
    "a merge request without a title": (("mr", "open", CONV, "--source", "draft", "--title", " "), 2, "invalid"),
    "a merge request without a source": (("mr", "open", CONV, "--title", "x"), 2, "invalid"),
    "the same merge request again": (("mr", "open", CONV, "--source", "final", "--title", "x"), 1, "refused"),
    "a merge request for a branch that is gone": (
        ("mr", "open", CONV, "--source", "x", "--title", "x"),
        4,
        "not-found",
    ),
    "the merge of a closed request": (("mr", "merge", CONV, "3"), 1, "refused"),
    "a candidate that does not exist": (("decisions", CONV, "--accept", "ffff.1"), 4, "not-found"),
    "a prefix of two candidates": (("decisions", CONV, "--dismiss", "CANDIDATE"), 5, "ambiguous"),
    "a candidate without a topic": (("decisions", CONV, "--accept", "CANDIDATE.1", "--topic", " "), 2, "invalid"),
    "a topic without a decision": (("decisions", CONV, "--withdraw", "nothing"), 4, "not-found"),
    "a range of one name": (("range-diff", "main..draft"), 2, "invalid"),
    "a range of a branch that does not exist": (("range-diff", CONV, "main", "none"), 4, "not-found"),
    "a search without a command": (("bisect", CONV), 2, "invalid"),
    "a search between equal ends": (
        ("bisect", CONV, "--good", "main", "--bad", "main", "--", "true"),
        1,
        "refused",
    ),
    "conflicts in no known status": (("conflicts", "list", "--status", "settled"), 2, "invalid"),
    "a conflict that does not exist": (("conflicts", "show", CONV, "99"), 4, "not-found"),
    "a conflict that is resolved": (("conflicts", "resolve", CONV, "2", "--take", "source"), 1, "refused"),
    "a log of a branch that does not exist": (("log", f"{CONV}/none"), 4, "not-found"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_refusal_is_one_error_with_its_exit_code_and_no_row(world, case):
    words, code, kind = REFUSED[case]
    words = words_of(world, words)
    done = world.run_main(*with_options(words, "--json"))
    assert (done.returncode, done.stdout) == (code, "")
    error = json.loads(done.stderr.splitlines()[-1])["error"]
    assert error["kind"] == kind
    assert error["message"]
    assert error["hint"]
    jsonschema.Draft202012Validator(read_schemas()["documents"]["error"]).validate({"error": error})
    done = world.run_main(*with_options(words, "--quiet"))
    assert (done.returncode, done.stdout) == (code, "")
    assert done.stderr.startswith(f"error: {error['message']}\n")


@pytest.mark.parametrize("name", COMMANDS)
def test_without_a_store_a_command_is_not_found(world, tmp_path, name):
    """No command that reads makes a store."""
    words, _ = words_in(world, name)
    world.store = str(tmp_path / "nowhere.git")
    done = world.run_main(*words)
    assert (done.returncode, done.stdout) == (4, "")
    assert f"there is no store at {world.store}" in done.stderr
    assert not (tmp_path / "nowhere.git").exists()


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("range-diff", CONV, "draft", "draft~1..draft"), 2),
        (("range-diff", CONV, "main..draft", "main..draft"), 0),
        (("range-diff", CONV, "draft", "final", "--stat"), 1),
        (("mr", "merge", CONV, "2"), 0),
        (("bisect", f"{CONV}/draft", "--", "sh", "-c", "exit 125"), 1),
        (("bisect", f"{CONV}/draft", "--", "sh", "-c", "exit 129"), 1),
    ],
)
def test_the_exit_code_tells_equal_from_different_and_known_from_unknown(world, words, code):
    assert world.run_main(*words).returncode == code


def test_a_merge_request_with_a_conflict_ends_with_the_code_of_a_conflict(world):
    world.run("conv", "merge", CONV, "--abort")
    world.append_typed("main", "decision", {"topic": "cache", "decision": "memcached"}, "alice")
    done = world.run_main("mr", "merge", CONV, "2", "--json")
    assert done.returncode == 3
    assert json.loads(done.stdout)["result"] == "conflict"
