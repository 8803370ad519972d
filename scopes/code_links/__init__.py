"""Links between the commits of a project and the messages that made them; the store is not the project's repository."""
