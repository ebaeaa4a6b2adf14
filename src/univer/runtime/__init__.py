"""Running a causal language model over trees: cache, masks, one pass, paths, probes and guards."""
