"""How the documentation is built: ``make docs``."""

import bestleaf

project = "bestleaf"
author = "bestleaf developers"
release = bestleaf.__version__
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx_gallery.gen_gallery",
]
html_theme = "pydata_sphinx_theme"
html_title = "bestleaf"
html_show_sourcelink = False
exclude_patterns = ["_build", "examples"]
autosummary_generate = True
autodoc_typehints = "none"
napoleon_google_docstring = False
myst_heading_anchors = 3  # links such as parts.md#a-bound
suppress_warnings = ["config.cache"]
sphinx_gallery_conf = {
    "examples_dirs": "examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py",
    "download_all_examples": False,
    "image_scrapers": (),
    "reset_modules": (),
    "show_memory": False,
    "within_subsection_order": "FileNameSortKey",
}
