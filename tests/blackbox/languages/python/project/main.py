from shapes import area, circle

print(circle.name, area(2, 3), open("data/words.txt").read().strip())
