"""`purge --file`: a result that came after its call was purged goes only with the file that it is about."""

from __future__ import annotations

import pytest

from scopes.conversation.new_rename_delete import new
from scopes.errors import NotFound
from scopes.purge.purge import plan_purge, purge
from scopes.purge.selection import PurgeRequest
from tests.support.every_byte import find_word
from tests.support.history import say

WORD = "Xylophone-Quarantine-4711"
HERE = "/home/ann/shop"


@pytest.fixture
def name(repository):
    return new(repository, directory=HERE).id


def call(repository, name, path, call_id="c1"):
    part = {"type": "tool_call", "call_id": call_id, "name": "Read", "input": {"file_path": path}}
    return say(repository, name, "", author={"name": "claude", "kind": "agent"}, parts=[part])


def answer(repository, name, call_id="c1", **fields):
    part = {"type": "tool_result", "call_id": call_id, "output": WORD, **fields}
    return say(repository, name, "", author={"name": "tool", "kind": "tool"}, parts=[part])


def about(path):
    """Return the structured result of Claude Code that names the file that was read."""
    return {"type": "text", "file": {"filePath": path, "content": WORD}}


def purge_file(repository, places, path):
    return purge(repository, PurgeRequest(file=path), places)


def test_a_result_that_names_another_file_stays(repository, places, name):
    call(repository, name, f"{HERE}/README.md")
    purge_file(repository, places, "README.md")
    answer(repository, name, structured=about(f"{HERE}/README.md"))
    with pytest.raises(NotFound, match="no message holds the file"):
        plan_purge(repository, PurgeRequest(file=".env"), places)
    assert purge_file(repository, places, "README.md").messages == 1
    assert find_word(WORD, repository.path) == []


def test_a_second_result_with_the_id_of_a_purged_call_is_of_another_one(repository, places, name):
    """Agents use an id again: `call_0` of the next turn."""
    call(repository, name, ".env")
    answer(repository, name)
    purge_file(repository, places, ".env")
    answer(repository, name)
    for path in ("notthere.txt", ".env"):
        with pytest.raises(NotFound, match="no message holds the file"):
            plan_purge(repository, PurgeRequest(file=path), places)


def test_a_result_without_a_call_goes_with_no_file_of_another_conversation(repository, places, name):
    call(repository, name, ".env", "call_0")
    other = new(repository, directory=HERE).id
    kept = answer(repository, other, "call_0")
    assert kept.id not in {each.message for each in plan_purge(repository, PurgeRequest(file=".env"), places).messages}


@pytest.mark.parametrize("path", [f"{HERE}/conf/./.env", "../shop/conf/.env", "~/shop/conf/.env", "conf/.env"])
def test_call_and_result_go_with_the_file_however_the_call_writes_its_path(repository, places, name, path):
    call(repository, name, path)
    answer(repository, name)
    assert purge_file(repository, places, f"{HERE}/conf/.env").messages == 2
    assert find_word(WORD, repository.path) == []


def test_a_relative_path_begins_in_the_directory_of_the_message(repository, places, name):
    part = {"type": "tool_call", "call_id": "c1", "name": "Bash", "input": {"command": "cat .env"}}
    author = {"name": "claude", "kind": "agent"}
    held = say(repository, name, "", author=author, parts=[part], cwd=f"{HERE}/conf")
    say(repository, name, "", author=author, parts=[{**part, "call_id": "c2"}], cwd=f"{HERE}/other")
    planned = plan_purge(repository, PurgeRequest(file=f"{HERE}/conf/.env"), places)
    assert [each.message for each in planned.messages] == [held.id]


def test_the_name_of_a_branch_is_no_file(repository, places, name):
    part = {"type": "tool_call", "call_id": "c1", "name": "Bash", "input": {"command": "git diff main -- src/app.py"}}
    say(repository, name, "", author={"name": "claude", "kind": "agent"}, parts=[part])
    answer(repository, name)
    with pytest.raises(NotFound, match="no message holds the file"):
        plan_purge(repository, PurgeRequest(file="main"), places)
