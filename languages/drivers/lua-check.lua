-- Compiles every file named on the command line and runs none.
local right = true
for _, name in ipairs(arg) do
  local chunk, message = loadfile(name)
  if not chunk then
    io.stderr:write(message, "\n")
    right = false
  end
end
os.exit(right)
