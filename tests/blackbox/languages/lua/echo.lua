-- Says what it was given: arguments, one variable, stdin line by line.
local words = {}
for i, word in ipairs(arg) do
    words[i] = "[" .. word .. "]"
end
print("args: " .. table.concat(words))
print("GREETING: " .. (os.getenv("GREETING") or "unset"))
local number = 0
for line in io.lines() do
    number = number + 1
    print(number .. ": " .. line)
end
