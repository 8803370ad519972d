"""Tests of the importer and its formats."""
