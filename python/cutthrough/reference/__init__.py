"""The reference of the experiment file, and the words of other tools."""
