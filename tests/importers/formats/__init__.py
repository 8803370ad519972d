"""The formats of transcripts, a package for each agent."""
