"""Training of draft heads: texts sampled from the target, the trainer, and what it records."""
