local part = require("part")

local words = {}
for word in io.open("words.txt"):read("a"):gmatch("%a+") do
    words[#words + 1] = word
end
print(part.join(words))
