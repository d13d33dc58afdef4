"""Tests of importers."""
