"""Measure the claims about speed and growth: `python -m benchmarks [NAME ...]`. `make bench` runs all of them."""
