"""What fits a model: tokens, budgets, and the part of a history that is worth them."""
