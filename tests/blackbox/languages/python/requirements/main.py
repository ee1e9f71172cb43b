import six

print(six.ensure_str(b"six is here"), six.PY3)
