def join(words):
    return "+".join(words)
