"""The secrets in a store: find them, allow what is none, and make the gates that what leaves has to pass."""
