"""Share conversations through git servers: remotes, push, fetch and clone. All that comes from a remote is checked."""
