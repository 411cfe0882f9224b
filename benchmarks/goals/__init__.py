"""What is measured: one module for each goal or family of goals; `benchmarks.registry` names them."""
