"""Sphinx: furo, MyST, and references generated from what the program itself says."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import generate
from cutthrough import __version__

generate.write(Path(__file__).parent / "reference" / "generated")
generate.draw(Path(__file__).parent / "images" / "generated")

project = "Cutthrough"
author = "The Cutthrough authors"
copyright = "the Cutthrough authors"
release = version = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.mathjax", "sphinx_copybutton"]
exclude_patterns = ["_build", "reference/generated/*", "validation/*"]
myst_enable_extensions = ["dollarmath", "colon_fence", "deflist"]
myst_heading_anchors = 3
autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
napoleon_numpy_docstring = False
copybutton_prompt_text = r"\$ |>>> |\.\.\. "
copybutton_prompt_is_regexp = True

html_theme = "furo"
html_title = f"Cutthrough {release}"
