"""A conversation is written as a session of another agent, and what that agent adds continues the conversation."""

from __future__ import annotations

import json
import os

import pytest

from scopes.conversation.append import append
from scopes.conversation.branch import append_to_new_branch, branch
from scopes.conversation.merge import merge
from scopes.conversation.new_rename_delete import delete, new
from scopes.conversation.undo import redo, undo
from scopes.conversation.verify import verify
from scopes.errors import Invalid, NotFound, Refused, SecretsFound
from scopes.handover.checkout import CheckoutRequest, checkout, plan_checkout
from scopes.handover.registration import follow_undo
from scopes.handover.resume import User
from scopes.handover.writers import WRITERS
from scopes.history.handles import Heading, read_heading
from scopes.history.messages import plain_message, read_body, walk_headers_oldest_first
from scopes.history.names import list_branch_tips
from scopes.tokens.count import RankFilePaths, choose_tokenizer
from tests.handover.continued import go_on
from tests.handover.sessions import Home
from tests.handover.test_llm_database import make_database
from tests.importers.formats.claude_code.logs import Log, call, text, thinking
from tests.support.history import say
from tests.support.planted import KINDS

DOCUMENT = "session.json"
FAKE_OPENCODE = f'#!/bin/sh\n[ "$1" = import ] && cp "$2" "$HOME/{DOCUMENT}" && pwd > "$HOME/directory"\n'


class Shop(Home):
    """A home with a session that has a call, and a program `opencode` whose import keeps the document."""

    def __init__(self, path, repository):
        super().__init__(path, repository)
        self.log.user("and the names?", cwd=self.project)
        self.log.answer("m3", thinking("which names?"), text("I look."), call("toolu_01"), cwd=self.project)
        self.log.result("toolu_01", "NAMES = []", cwd=self.project)
        self.log.answer("m4", text("they are gone"), cwd=self.project)
        self.write()
        program = path / "bin" / "opencode"
        program.parent.mkdir()
        program.write_text(FAKE_OPENCODE)
        program.chmod(0o755)
        os.makedirs(f"{self.path}/.config/io.datasette.llm")
        make_database(f"{self.path}/.config/io.datasette.llm/logs.db")
        self.environ = {"HOME": self.path, "PATH": f"{program.parent}:/usr/bin:/bin"}

    def plan(self, agent="codex", where="conv-001", **options):
        request = CheckoutRequest(where=where, agent=agent, **options)
        self.user = User(self.environ, self.path)
        choice = choose_tokenizer(RankFilePaths(self.path, None, ()))
        return plan_checkout(self.repository, request, choice, self.user)

    def checkout(self, agent="codex", where="conv-001", *, dry_run=False, **options):
        return checkout(self.plan(agent, where, **options), self.user, dry_run=dry_run)

    def texts(self, where):
        """Return the texts of a branch, oldest first."""
        conversation, _, branch = where.partition("/")
        tip = list_branch_tips(self.repository, conversation)[branch]
        heads = walk_headers_oldest_first(self.repository, [tip])
        messages = [read_body(self.repository, head) for head in heads]
        return [message.text for message in messages if message.author.kind != "injected" and message.text]

    def branches(self):
        return [*list_branch_tips(self.repository, "conv-001")]


@pytest.fixture
def shop(tmp_path, repository):
    return Shop(tmp_path, repository)


def file_text(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def file_of(shop, agent, found):
    """Return the file of a session; of one in a database a file as the import reads it from there."""
    if found.file is not None:
        return found.file
    path = os.path.join(shop.path, DOCUMENT)
    if agent == "llm":
        with open(path, "wb") as file:
            file.write(shop.plan("llm").content.data)
    return path


@pytest.mark.every_case("each agent has a shape of its own")
@pytest.mark.parametrize("agent", WRITERS)
def test_what_the_agent_adds_continues_the_conversation_where_it_was_handed_over(shop, agent):
    found = shop.checkout(agent)
    assert (found.state, found.new_branch, found.messages, found.total) == ("written", f"{agent}/1", 6, 6)
    before = shop.texts("conv-001/main")
    assert shop.texts(f"conv-001/{agent}/1") == before
    file = file_of(shop, agent, found)
    shop.import_file(file)
    assert shop.texts(f"conv-001/{agent}/1") == before
    for prompt, answer in (("and the tests?", "they pass"), ("and the docs?", "written")):
        go_on(agent, file, prompt, answer)
        shop.import_file(file)
        before += [prompt, answer]
    assert shop.texts(f"conv-001/{agent}/1") == before
    assert shop.branches() == sorted([f"{agent}/1", "main"])
    tips = list_branch_tips(shop.repository, "conv-001")
    shop.import_file(file)
    assert list_branch_tips(shop.repository, "conv-001") == tips
    assert verify(shop.repository).exit_code == 0


@pytest.mark.every_case("each agent has a shape of its own")
@pytest.mark.parametrize("agent", WRITERS)
@pytest.mark.slow
def test_a_history_that_ends_with_results_is_continued_after_them(shop, agent):
    shop.log.answer("m5", text("I test."), call("toolu_02", command="pytest"), cwd=shop.project)
    shop.log.result("toolu_02", "1 passed", cwd=shop.project)
    shop.write()
    found = shop.checkout(agent)
    file, tip = file_of(shop, agent, found), list_branch_tips(shop.repository, "conv-001")["main"]
    go_on(agent, file)
    shop.import_file(file)
    heads = list(
        walk_headers_oldest_first(shop.repository, [list_branch_tips(shop.repository, "conv-001")[found.new_branch]])
    )
    assert tip in [head.oid for head in heads]
    assert shop.texts(f"conv-001/{agent}/1")[-3:] == ["I test.", "and the tests?", "they pass"]


def test_the_command_opens_the_session_in_the_directory_of_the_conversation(shop):
    found = shop.checkout()
    assert found.command == ("codex", "resume", found.session_id)
    assert found.shell == f"cd {shop.project} && codex resume {found.session_id}"
    assert os.stat(found.file).st_mode & 0o777 == 0o600
    assert [note.text for note in found.notes if "tokens" not in note.text] == ["left out: 1 reasoning"]


def test_reasoning_is_quoted_if_it_is_wanted(shop):
    found = shop.checkout(reasoning=True)
    with open(found.file) as file:
        assert "> which names?" in file.read()
    assert "as text: 1 reasoning" in [note.text for note in found.notes]


def test_the_same_command_finds_the_session_again(shop):
    first = shop.checkout()
    again = shop.checkout()
    assert (again.state, again.operation, again.file) == ("unchanged", None, first.file)
    os.unlink(first.file)
    assert shop.checkout().state == "written"
    assert shop.branches() == ["codex/1", "main"]


def test_with_other_options_a_session_that_nobody_has_used_is_written_again(shop):
    first = shop.checkout()
    again = shop.checkout(reasoning=True)
    assert (again.state, again.file, again.new_branch) == ("written", first.file, "codex/1")
    go_on("codex", again.file)
    shop.import_file(again.file)
    assert shop.texts("conv-001/codex/1")[-2:] == ["and the tests?", "they pass"]


def test_a_session_with_which_the_agent_has_gone_on_stays_as_it_is(shop):
    found = shop.checkout()
    go_on("codex", found.file)
    with open(found.file, "rb") as file:
        before = file.read()
    for _ in range(2):
        again = shop.checkout()
        assert (again.state, again.operation) == ("continued", None)
        with open(found.file, "rb") as file:
            assert file.read() == before
        shop.import_file(found.file)


def test_a_file_that_scopes_did_not_write_is_never_replaced(shop):
    found = shop.checkout(dry_run=True)
    os.makedirs(os.path.dirname(found.file))
    with open(found.file, "w") as file:
        file.write("mine\n")
    with pytest.raises(Refused, match="scopes did not write it"):
        shop.checkout()
    with open(found.file) as file:
        assert file.read() == "mine\n"
    assert shop.branches() == ["main"]


def test_a_dry_run_and_print_write_nothing(shop):
    before = dict(shop.repository.list_refs("refs/"))
    found = shop.checkout(dry_run=True)
    assert (found.state, found.operation, os.path.exists(found.file)) == ("written", None, False)
    data = shop.plan().content.data
    assert json.loads(data.splitlines()[0])["payload"]["id"] == found.session_id
    assert dict(shop.repository.list_refs("refs/")) == before
    assert not os.path.exists(f"{shop.path}/.codex")


def test_the_session_is_registered_before_its_file_appears(shop, monkeypatch):
    """A watcher imports the file at once, and has to know it."""
    seen = []
    replace = os.link
    monkeypatch.setattr(os, "link", lambda *names: seen.append(shop.branches()) or replace(*names))
    shop.checkout()
    assert seen == [["codex/1", "main"]]


def test_undo_takes_the_session_back_and_redo_writes_it_again(shop):
    found = shop.checkout()
    with open(found.file, "rb") as file:
        before = file.read()
    undone = follow_undo(shop.repository, undo(shop.repository))
    assert [note.text for note in undone.notes] == [f"deleted {found.file}"]
    assert (shop.branches(), os.path.exists(found.file)) == (["main"], False)
    follow_undo(shop.repository, redo(shop.repository))
    with open(found.file, "rb") as file:
        assert file.read() == before
    assert shop.checkout().state == "unchanged"


def test_undo_says_that_a_session_stays_in_the_database_of_an_agent(shop):
    found = shop.checkout("llm")
    undone = follow_undo(shop.repository, undo(shop.repository))
    assert [note.text for note in undone.notes] == [f"the session {found.session_id} stays in the database of llm"]
    assert shop.branches() == ["main"]
    assert follow_undo(shop.repository, redo(shop.repository)).notes == ()
    assert shop.branches() == ["llm/1", "main"]
    assert shop.checkout("llm").state == "unchanged"


def test_undo_keeps_a_file_with_which_the_agent_has_gone_on(shop):
    found = shop.checkout()
    go_on("codex", found.file)
    undone = follow_undo(shop.repository, undo(shop.repository))
    assert [note.text for note in undone.notes] == [f"{found.file} has changed since it was written, and stays"]
    assert os.path.exists(found.file)


def test_a_session_that_the_agent_went_on_with_is_taken_up_again_after_undo(shop):
    found = shop.checkout()
    go_on("codex", found.file)
    follow_undo(shop.repository, undo(shop.repository))
    again = shop.checkout()
    assert (again.state, again.new_branch, again.session_id) == ("continued", "codex/1", found.session_id)
    assert "and the tests?" in file_text(found.file)
    shop.import_file(found.file)
    assert shop.texts("conv-001/codex/1")[-2:] == ["and the tests?", "they pass"]
    assert (shop.branches(), shop.checkout().operation) == (["codex/1", "main"], None)


def test_a_session_that_was_imported_after_undo_goes_on_where_the_import_put_it(shop):
    log = Log("22222222-3333-4444-8555-666666666666")
    log.user("explain the prices", cwd=shop.project)
    log.answer("m1", text("The prices are whole numbers of cents from now on. " * 30), cwd=shop.project)
    with open(f"{os.path.dirname(shop.file)}/{log.session}.jsonl", "wb") as file:
        file.write(log.data())
    shop.import_file(file.name)
    found = shop.checkout("claude-code", "conv-002")
    go_on("claude-code", found.file)
    undo(shop.repository)
    shop.import_file(found.file)
    (fork,) = (name for name in list_branch_tips(shop.repository, "conv-002") if name != "main")
    again = shop.checkout("claude-code", "conv-002/main")
    assert (again.state, again.new_branch, again.operation) == ("continued", fork, None)
    go_on("claude-code", found.file, "and the docs?", "written")
    shop.import_file(found.file)
    assert shop.texts(f"conv-002/{fork}")[-2:] == ["and the docs?", "written"]
    assert verify(shop.repository).exit_code == 0


def test_a_session_that_became_a_conversation_after_undo_continues_the_one_that_it_is_from(shop):
    found = shop.checkout("claude-code")
    go_on("claude-code", found.file)
    undo(shop.repository)
    shop.import_file(found.file)
    assert shop.texts("conv-002/main")[-2:] == ["and the tests?", "they pass"]
    again = shop.checkout("claude-code")
    assert (again.state, again.new_branch) == ("continued", "claude-code/1")
    go_on("claude-code", found.file, "and the docs?", "written")
    shop.import_file(found.file)
    assert shop.texts("conv-001/claude-code/1")[-4:] == ["and the tests?", "they pass", "and the docs?", "written"]
    assert verify(shop.repository).exit_code == 0


def test_a_session_that_was_changed_after_undo_is_refused_with_what_it_is(shop):
    found = shop.checkout()
    with open(found.file, "w") as file:
        file.write("changed\n")
    undo(shop.repository)
    with pytest.raises(Refused, match="the agent has changed it since its checkout was undone") as refused:
        shop.checkout()
    assert refused.value.hint == f"keep what it has: scopes import {found.file}"
    assert file_text(found.file) == "changed\n"


def test_a_session_whose_file_the_agent_deleted_begins_anew_on_a_branch_of_its_own(shop):
    """Claude Code deletes sessions after 30 days."""
    found = shop.checkout("claude-code")
    go_on("claude-code", found.file)
    shop.import_file(found.file)
    os.unlink(found.file)
    again = shop.checkout("claude-code")
    (note,) = (note for note in again.notes if "this session is without them" in note.text)
    assert note.text.startswith("claude-code had added 2 messages on conv-001/claude-code/1: ")
    assert note.hint == "to go on with them: scopes resume conv-001/claude-code/1 --in claude-code"
    assert (again.state, again.new_branch) == ("written", "claude-code/2")
    go_on("claude-code", again.file, "and the docs?", "written")
    assert not [note for note in shop.import_file(again.file).notes if "moved" in note.text]
    assert shop.texts("conv-001/claude-code/1")[-2:] == ["and the tests?", "they pass"]
    assert shop.texts("conv-001/claude-code/2")[-3:] == ["they are gone", "and the docs?", "written"]
    assert shop.branches() == ["claude-code/1", "claude-code/2", "main"]


def test_a_dry_run_of_undo_deletes_nothing(shop):
    found = shop.checkout()
    assert follow_undo(shop.repository, undo(shop.repository, dry_run=True)).notes == ()
    assert os.path.exists(found.file)


def test_every_tip_has_a_session_of_its_own(shop):
    first = shop.checkout()
    say(shop.repository, "conv-001", "use integers")
    second = shop.checkout()
    assert first.session_id != second.session_id
    assert (second.new_branch, second.messages) == ("codex/2", 7)
    for found in (first, second):
        go_on("codex", found.file)
        shop.import_file(found.file)
    assert "use integers" not in shop.texts("conv-001/codex/1")
    assert shop.texts("conv-001/codex/2")[-3:] == ["use integers", "and the tests?", "they pass"]


def test_a_branch_with_the_name_of_the_agent_leaves_room_for_the_new_one(shop):

    branch(shop.repository, "conv-001", name="codex", start="main", switch=False)
    assert shop.checkout().new_branch == "codex-1"


def test_what_the_agent_adds_after_going_back_joins_the_message_before(shop):
    """A prompt to Claude Code that was edited follows an earlier record."""
    found = shop.checkout("claude-code")
    with open(found.file, "rb") as file:
        records = [json.loads(line) for line in file]
    first = [each for each in records if "uuid" in each][1]
    asked = {**first, "type": "user", "uuid": "n1", "parentUuid": first["uuid"], "timestamp": "2026-03-02T09:00:00Z"}
    asked["message"] = {"role": "user", "content": "the other way, please"}
    with open(found.file, "ab") as file:
        file.write(json.dumps(asked).encode() + b"\n")
    shop.import_file(found.file)
    assert shop.texts("conv-001/claude-code/1") == ["hide the prices", "done, in prices.py", "the other way, please"]


def test_the_history_begins_at_the_last_compaction_unless_all_is_wanted(shop):
    last = shop.log.last
    shop.log.boundary(last, cwd=shop.project)
    shop.log.summary("Prices and names are hidden.", cwd=shop.project)
    shop.log.answer("m9", text("what next?"), cwd=shop.project)
    shop.write()
    found = shop.checkout()
    assert (found.messages, found.left_out) == (2, found.total - 2)
    left_out = f"{found.total - 2} of {found.total} messages are before the last compaction, and left out"
    assert found.before_compaction == found.total - 2
    assert [note.hint for note in found.notes if note.text == left_out] == [None]
    go_on("codex", found.file)
    shop.import_file(found.file)
    assert shop.texts("conv-001/codex/1")[:2] == ["hide the prices", "done, in prices.py"]
    assert shop.checkout("pi", full=True).left_out == 0


def test_a_history_with_too_many_tokens_is_shortened_and_still_joins(shop):
    for number in range(30):
        author = {"name": "carol", "kind": "human"} if number % 2 else {"name": "helper", "kind": "agent"}
        say(shop.repository, "conv-001", f"step {number} " + "word " * 40, author=author)
    found = shop.checkout(max_tokens=1200)
    assert found.tokens <= 1200
    assert (found.total, found.left_out > 10, found.before_compaction) == (36, True, 0)
    shortened = f"{found.left_out} of 36 messages are beyond the tokens, and shortened"
    assert (shortened, None) in [(note.text, note.hint) for note in found.notes]
    with open(found.file) as file:
        written = file.read()
    assert "<conversation_history>" in written
    assert "hide the prices" in written
    assert "step 29" in written
    go_on("codex", found.file)
    shop.import_file(found.file)
    added = shop.texts("conv-001/codex/1")
    assert (len(added), added[-3].startswith("step 29"), added[-2:]) == (37, True, ["and the tests?", "they pass"])


def test_newest_messages_that_are_too_long_are_an_error_with_a_cure(shop):
    say(shop.repository, "conv-001", "word " * 400)
    with pytest.raises(Invalid, match="have no room for the newest messages") as error:
        shop.checkout(max_tokens=100)
    assert error.value.hint.startswith("use more: --max-tokens ")


def test_a_session_with_a_secret_is_refused_redacted_or_let_pass(shop):
    _, token = KINDS[1]
    say(shop.repository, "conv-001", f"the token is {token}")
    with pytest.raises(SecretsFound):
        shop.checkout()
    assert (shop.branches(), os.path.exists(f"{shop.path}/.codex")) == (["main"], False)
    found = shop.checkout(secrets="redact")
    with open(found.file) as file:
        written = file.read()
    assert (token in written, "[redacted:" in written) == (False, True)
    go_on("codex", found.file)
    shop.import_file(found.file)
    assert token in shop.texts("conv-001/codex/1")[-3]
    again = shop.checkout("pi", secrets="allow")
    with open(again.file) as file:
        assert token in file.read()


def test_an_empty_conversation_is_refused(shop):

    made = new(shop.repository, directory=shop.project)
    with pytest.raises(Refused, match="has no message to hand over"):
        shop.checkout(where=made.id)


def test_a_session_of_opencode_is_called_like_the_conversation_which_keeps_its_first_prompt(shop, tmp_path):
    shop.checkout("opencode")
    document = tmp_path / "home" / DOCUMENT
    assert '"title":"hide the prices"' in document.read_text()
    go_on("opencode", document)
    shop.import_file(document)
    assert read_heading(shop.repository, "conv-001") == Heading("hide the prices", "prompt")
    document.write_text(document.read_text().replace("hide the prices", "Prices", 1))
    shop.import_file(document)
    assert read_heading(shop.repository, "conv-001") == Heading("Prices", "title")


def test_the_title_of_a_session_of_opencode_has_no_secrets_and_is_short(shop, tmp_path):
    secret = KINDS[1][1]
    log = Log("22222222-2222-4333-8444-555555555555")
    log.user(f"{'x ' * 35}{secret} {'y ' * 50}", cwd=shop.project)
    log.answer("m2", text("done"), cwd=shop.project)
    (tmp_path / "other.jsonl").write_bytes(log.data())
    shop.import_file(str(tmp_path / "other.jsonl"))
    shop.checkout("opencode", "conv-002", secrets="redact")
    title = json.loads((tmp_path / "home" / DOCUMENT).read_text())["info"]["title"]
    assert (len(title), "[redacted:github-token" in title) == (100, True)


def test_the_import_of_opencode_runs_in_the_directory_of_the_project(shop):
    shop.checkout("opencode")
    with open(f"{shop.path}/directory") as file:
        assert file.read().strip() == shop.project


def test_without_its_program_nothing_gets_into_the_database_of_opencode(shop):
    before, path = dict(shop.repository.list_refs("refs/")), shop.environ["PATH"]
    shop.environ["PATH"] = "/nonexistent"
    for _ in range(2):
        with pytest.raises(NotFound, match="opencode is not in PATH"):
            shop.checkout("opencode")
        assert dict(shop.repository.list_refs("refs/")) == before
    shop.environ["PATH"] = path
    assert (shop.checkout("opencode").state, shop.branches()) == ("written", ["main", "opencode/1"])


def test_the_error_of_an_import_of_opencode_has_its_words(shop, tmp_path):
    (tmp_path / "bin" / "opencode").write_text("#!/bin/sh\necho 'no such model' >&2\nexit 3\n")
    with pytest.raises(Refused, match="the import of OpenCode failed with exit code 3: no such model"):
        shop.checkout("opencode")
    assert shop.branches() == ["main"]


def test_resume_opens_the_session_that_was_written(shop, tmp_path):
    """On its branch, and in the directory that it was written for."""
    other = tmp_path / "elsewhere"
    other.mkdir()
    for agent in ("codex", "claude-code"):
        found = shop.checkout(agent, directory=str(other))
        opened = shop.resume(f"conv-001/{found.new_branch}")
        assert (opened.session, opened.session_id, opened.directory) == ("own", found.session_id, str(other))
        assert opened.command == found.command


def test_a_conversation_that_was_deleted_does_not_come_back_with_the_session(shop):

    found = shop.checkout()
    go_on("codex", found.file)
    delete(shop.repository, "conv-001")
    shop.import_file(found.file)
    assert list_branch_tips(shop.repository, "conv-001") == {}
    assert not shop.repository.list_refs("refs/heads/")


def test_a_session_that_an_earlier_run_has_written_is_registered_once_more(shop):
    """Another clone of the store has written it, or a run was killed."""
    found = shop.checkout()
    with open(found.file, "rb") as file:
        data = file.read()
    undo(shop.repository)
    assert shop.branches() == ["main"]
    with open(found.file, "rb") as file:
        assert file.read() == data
    assert shop.checkout().state == "unchanged"
    assert shop.branches() == ["codex/1", "main"]


def test_the_marks_of_a_merged_branch_are_not_left_out_messages(shop):
    """It said that -2 of 12 messages are before the last compaction."""
    repository = shop.repository
    append_to_new_branch(
        repository, "conv-001", plain_message("carol", "aside"), start=None, name="notes", switch=False
    )
    append(repository, "conv-001", plain_message("carol", "ahead"))
    merge(repository, "conv-001", "notes")
    for full in (False, True):
        done = shop.checkout(dry_run=True, full=full)
        assert (done.left_out, done.before_compaction) == (0, 0)
        assert not any("compaction" in note.text for note in done.notes)
