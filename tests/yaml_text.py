"""YAML by libyaml, where Python was built with it: each worker reads 120 tables, and that is ten times as fast.  Several
modules read the same ones: a text is read once, and each of them gets objects of its own."""
import functools
import pickle

import yaml

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@functools.cache
def _read(text):
    return pickle.dumps(yaml.load(text, _LOADER))


def load(text):
    """As yaml.safe_load."""
    return pickle.loads(_read(text))
