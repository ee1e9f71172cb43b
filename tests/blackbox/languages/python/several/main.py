import part

with open("words.txt") as words:
    print(part.join(words.read().split()))
