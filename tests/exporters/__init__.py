"""What goes out, in every form."""
