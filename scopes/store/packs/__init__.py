"""Write many objects at once as git packs, in bounded memory."""
