"""Full-text search: the query language, its translation to SQL, and the hits."""
