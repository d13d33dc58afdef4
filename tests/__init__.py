"""Tests of corepath; run them with `make test`."""
