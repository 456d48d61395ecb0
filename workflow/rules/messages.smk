import functools
import sys
from pathlib import Path

from replibo.config import load
from replibo.errors import RepliboError


def one_line(function):
    """Say what is wrong in the config or in a target in one line. Snakemake's own exceptions would add
    where in these files they were raised."""

    @functools.wraps(function)
    def wrapped(*arguments):
        try:
            return function(*arguments)
        except RepliboError as error:
            sys.exit("\n".join(f"replibo: {line}" for line in str(error).splitlines()))
        except OSError as error:
            if error.filename is None:
                raise
            sys.exit(f"replibo: {error.filename}: {error.strerror}")

    return wrapped


# Snakemake's own reader does not say which file is wrong, and passes over what a reader of YAML may take
# for something else.
def check_yaml(name):
    one_line(load.read_yaml)(Path(name))
