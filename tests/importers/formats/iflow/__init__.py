"""Tests of the session files of iFlow."""
