"""Checks of the arguments that users give, and the errors that name wrong ones."""
