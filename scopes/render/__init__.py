"""From a Result to what is seen: text for people, JSON for machines. The only package that imports rich."""
