"""Reads within the limits of each kind of file, and writes that leave a file whole or absent."""
