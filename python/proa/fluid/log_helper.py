"""Loggers."""

import logging

__all__ = ["get_logger"]


def get_logger(name, level, fmt=None):
    """A logger of this name and level, that writes lines as `fmt` says and passes nothing on."""
    logger = logging.getLogger(name)
    logger.setLevel(level)
    logger.propagate = False
    if not logger.handlers:
        handler = logging.StreamHandler()
        if fmt:
            handler.setFormatter(logging.Formatter(fmt=fmt, datefmt="%a %b %d %H:%M:%S"))
        logger.addHandler(handler)
    return logger
