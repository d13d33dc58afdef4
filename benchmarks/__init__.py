"""What is claimed of speed and growth, measured: `python -m benchmarks [NAME ...]`, `make bench` runs all."""
