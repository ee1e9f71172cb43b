grüße = {"日本": "Nihon", "🦀": "Krebs", "e\u0301": "combining"}
for wort, sinn in grüße.items():
    print(wort, len(wort), sinn)
print(input()[::-1], "ß".upper(), "ΑΣ".lower())
