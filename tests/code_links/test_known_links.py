"""What trailers of commits say about conversations: candidates, or one more reason for what is found otherwise."""

from __future__ import annotations

from scopes.code_links.known_links import KnownLinks
from scopes.code_links.linked_commits import open_linker
from scopes.code_links.recorded_links import RecordedCommits
from scopes.history.handles import StoreHandle

GREETING = "def greeting_of(name):\n    return 'good morning, ' + name\n"


def prompts_of(world):
    """Return the ids of the prompts of a conversation in which each has one answer, the first one first."""
    messages = StoreHandle(world.repository).conversation("conv-001").branch().messages()
    return [message.id for message in list(messages)[::-1][::2]]


def commit_with(project, *names):
    project.write("other.py", "value_of_another_person = 1\n")
    return project.commit("Add a value", *(word for name in names for word in ("-m", f"Scopes-Turn: {name}")))


def known_links(world, commit):
    with world.git() as git:
        return KnownLinks(world.repository, git, RecordedCommits(world.repository)).links_of(commit)


def test_a_trailer_is_a_candidate_for_the_turn_that_it_names(world, project):
    world.take(world.claude().prompt("hello").say("Hello.").prompt("and good bye").say("Good bye."))
    name = prompts_of(world)[0]
    (link,) = known_links(world, commit_with(project, name))
    assert (link.conversation, link.role, link.level, link.turn) == ("conv-001", "made", "candidate", 1)
    assert (link.evidence[0].kind, link.evidence[0].text) == ("trailer", f"trailer Scopes-Turn: {name}")


def test_a_trailer_that_names_no_message_of_the_store_says_nothing(world, project):
    world.take(world.claude().prompt("hello").say("Hello."))
    assert known_links(world, commit_with(project, "a" * 26, "not-an-id")) == ()


def test_each_trailer_of_a_squashed_commit_is_a_candidate(world, project):
    world.take(world.claude().prompt("hello").say("Hello.").prompt("and good bye").say("Good bye."))
    assert [link.turn for link in known_links(world, commit_with(project, *prompts_of(world)))] == [1, 2]


def test_a_trailer_is_one_more_reason_for_a_link_that_rests_on_the_content(world, project):
    world.take(world.claude().prompt("please write a greeting").write("greeting.py", GREETING * 2))
    commit = commit_with(project, prompts_of(world)[0])
    with open_linker(world.repository, world.index_directory, str(project.path)) as linker:
        (linked,) = linker.link([commit])
    (link,) = linked.links
    assert [evidence.kind for evidence in link.evidence] == ["content", "trailer"]
    assert link.level == "likely"


def test_a_commit_that_the_project_has_not_is_left_out(world, project):
    world.take(world.claude().prompt("hello").say("Hello."))
    project.write("other.py", "x = 1\n")
    project.commit("Begin")
    with open_linker(world.repository, world.index_directory, str(project.path)) as linker:
        assert list(linker.link(["a" * 40])) == []
