"""The Textual face; it starts and follows runs, it never executes."""
