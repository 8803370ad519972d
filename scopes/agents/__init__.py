"""The registered agents of a store, and the messages that are sent to them: inboxes and delivery to programs."""
