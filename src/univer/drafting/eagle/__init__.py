"""EAGLE drafts: a one-layer head that reads the target's hidden states."""
