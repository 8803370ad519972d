"""An edit that was made before a commit wins over one a moment later, which is an answer only if there is no other."""

from __future__ import annotations

from tests.code_links.test_why import begin

HELPERS = """\
def parse_price(text):
    value = text.strip()
    return float(value)

def format_price(value):
    return '%.2f' % value
"""
ROUNDED = f"{HELPERS}\ndef round_price(value):\n    return round(value, 2)\n"


def test_a_whole_file_that_is_written_after_a_commit_takes_no_line_of_it(world, project):
    """Three seconds later the same lines were written again, and all of them were called certain of that turn."""
    begin(project)
    session = world.claude().prompt("write price helpers").write("price.py", HELPERS).commit("Helpers", "-q")
    project.clock.skip(seconds=-38)
    project.path.joinpath("price.py").unlink()  # so that the second call records no hunks
    session.prompt("add rounding").write("price.py", ROUNDED).commit("Rounding", "-q")
    groups = world.why("price.py", session).items
    found = [(each.last_line, each.level, each.answers[0].turn) for each in groups]
    assert found == [(6, "certain", 1), (9, "certain", 2)]


def test_a_later_edit_of_another_session_takes_no_line_either(world, project):
    begin(project)
    one = world.claude().prompt("write price helpers").write("price.py", HELPERS)
    project.git("add", "-A")
    project.git("commit", "-q", "-m", "Helpers")
    project.clock.skip(seconds=-17)
    project.path.joinpath("price.py").unlink()
    two = world.claude("two").prompt("the same again").write("price.py", HELPERS)
    answer = world.line("price.py:2", one, two).answers[0]
    assert (answer.turn, answer.prompt, answer.seconds_before) == (1, "write price helpers", 10.0)


def test_an_edit_that_was_recorded_after_its_commit_is_likely(world, project):
    begin(project)
    session = world.claude().prompt("write price helpers").write("price.py", HELPERS)
    project.clock.skip(seconds=-13)  # the edit was recorded three seconds after the commit
    project.commit("Helpers")
    project.clock.skip(seconds=60)
    found = world.line("price.py:2", session)
    assert (found.level, found.answers[0].turn) == ("likely", 1)


def test_the_link_of_a_commit_names_the_last_edit_before_it(world, project):
    begin(project)
    session = world.claude().prompt("write price helpers").write("price.py", HELPERS)
    commit = project.commit("Helpers")
    project.clock.skip(seconds=-27)
    project.path.joinpath("price.py").unlink()
    session.prompt("add rounding").write("price.py", ROUNDED)
    links = world.links(commit, session)
    assert [(each.role, each.turn) for each in links] == [("wrote", 1)]
