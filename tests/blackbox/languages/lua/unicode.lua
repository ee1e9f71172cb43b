local namen = { { "日本", "Nihon" }, { "🦀", "Krebs" }, { "e\u{301}", "combining" } }
for _, name in ipairs(namen) do
    print(name[1] .. " " .. utf8.len(name[1]) .. " " .. name[2])
end
local zurueck = ""
for _, zeichen in utf8.codes(io.read()) do
    zurueck = utf8.char(zeichen) .. zurueck
end
print(zurueck .. " Ö")
