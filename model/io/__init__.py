"""The edge to files: chips, problems and plans; errors with file and line."""

from elkhound.model.io.chip_file import chip_document, chip_names, load_chip

__all__ = ["chip_document", "chip_names", "load_chip"]
