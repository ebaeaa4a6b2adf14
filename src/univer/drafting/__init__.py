"""How trees are drafted: shapes, slots, growth within the rule, and draft models."""
