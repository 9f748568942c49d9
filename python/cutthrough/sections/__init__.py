"""Sections of experiments as typed objects: a module for each section that has kinds, and `plain` for the others.

The modules are generated, but for `base`.
"""
