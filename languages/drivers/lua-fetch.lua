-- Instead of LuaRocks' own command "download": fetches rocks with all that they need into the current
-- directory, which becomes a server of rocks.  Runs no code of a package: a rockspec is read without
-- functions, and sources are only packed.
package.preload["luarocks.cmd.download"] = function()
  local dir = require("luarocks.dir")
  local fetch = require("luarocks.fetch")
  local fs = require("luarocks.fs")
  local pack = require("luarocks.pack")
  local path = require("luarocks.path")
  local queries = require("luarocks.queries")
  local search = require("luarocks.search")
  local util = require("luarocks.util")
  local vers = require("luarocks.core.vers")
  local writer = require("luarocks.manif.writer")
  local download, got = {}, {}

  function download.add_to_parser(parser)
    parser:command("download", "Fetch rocks with what they need.", util.see_also()):argument("words"):args("+")
  end

  -- NAME, USER/NAME, NAME@VERSION
  local function wanted(word)
    local rock, version = word:match("^([^@]*)@(.*)$")
    local namespace, name = (rock or word):match("^([^/]*)/(.*)$")
    return queries.new((name or rock or word):lower(), namespace, version)
  end

  -- Returns the rockspec.
  local function keep(url)
    if url:match("%.rockspec$") then
      local rock, problem = pack.pack_source_rock(url)
      if not rock then return nil, problem end
      return fetch.load_rockspec(url)
    end
    local file, problem = fetch.fetch_url(url)
    if not file then return nil, problem end
    if dir.split_url(url) == "file" then fs.copy(file, fs.current_dir(), "read") end
    local unpacked, why = fetch.fetch_and_unpack_rock(file)
    if not unpacked then return nil, why end
    return fetch.load_local_rockspec(dir.path(unpacked, path.rockspec_name_from_rock(file)))
  end

  local function is_here(query)
    for _, one in ipairs(got) do
      if one.name == query.name and vers.match_constraints(one.version, query.constraints) then return true end
    end
    return false
  end

  local function bring(query)
    if is_here(query) then return true end
    local url, problem, code = search.find_suitable_rock(query)
    if code == "provided" then return true end
    if not url then return nil, tostring(query) .. ": " .. problem end
    local rockspec, why = keep(url)
    if not rockspec then return nil, url .. ": " .. why end
    got[#got + 1] = { name = query.name, version = vers.parse_version(rockspec.version) }
    for _, kind in ipairs({ "dependencies", "build_dependencies" }) do
      local list = rockspec[kind] or {}
      for _, need in ipairs(list.queries or list) do
        local done, reason = bring(need)
        if not done then return nil, reason end
      end
    end
    return true
  end

  function download.command(args)
    for _, word in ipairs(args.words) do
      local done, problem = bring(wanted(word))
      if not done then return nil, problem end
    end
    return writer.make_manifest(fs.current_dir(), "none", true)
  end

  return download
end
