"""What model answers cost: tokens and money by day, model, agent, project and conversation."""
