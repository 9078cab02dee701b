-- What wrk sends: `wrk -s load.lua URL -- KIND SERVER NAME SPACES POINTS DELAY`
--   KIND    push25, push1, pull25, pull1000 or device (a push of one record and a pull of up to 25)
--   SERVER  bothy or kinto
--   NAME    begins the ids of the records
--   SPACES  1 for the space `hot`, else the number of spaces that take turns
--   POINTS  a file with a line for each place from which to pull: `space cursor`, or `_since` for Kinto
--   DELAY   the mean milliseconds between two requests of a connection; 0 for none
local kind, server, name, spaces, delayed
local number, points = 0, {}
local batches = { push25 = 25, push1 = 1, device = 1 }
local limits = { pull25 = 25, pull1000 = 1000, device = 25 }
local note = string.rep("words that somebody wrote ", 4)

-- Kinto answers a batch with 200 and says inside it which of its writes it refused. Without such a function wrk reads no
-- bodies, so only those loads have one; wrk calls `setup` for each thread before it starts.
local threads = {}
function setup(thread) threads[#threads + 1] = thread end

written, unwritten = 0, 0
local function count(status, _, body)
  if status ~= 200 then return end
  for inside in body:gmatch('"status": ?(%d%d%d)') do
    if inside:sub(1, 1) == "2" then written = written + 1 else unwritten = unwritten + 1 end
  end
end

function init(args)
  kind, server, name, spaces = args[1], args[2], args[3], tonumber(args[4])
  for line in io.lines(args[5]) do points[#points + 1] = line end
  delayed = tonumber(args[6])
  if server == "kinto" and kind == "push25" then response = count end
  math.randomseed(#name + spaces)
  wrk.headers["Content-Type"] = "application/json"
  wrk.headers["Authorization"] = server == "kinto" and "Basic YWRhOnNlY3JldA==" or "Bearer load"
end

local function space() return spaces == 1 and "hot" or "s" .. number % spaces end

local function fields(n)
  return '{"title":"record ' .. n .. '","note":"' .. note .. '","count":' .. n .. ',"done":false,"due":1790000000000}'
end

local function operations()
  local all = {}
  for n = 1, batches[kind] do
    local id = name .. "-" .. number .. "-" .. n
    all[n] = '{"id":"' .. id .. '","kind":"insert","type":"Item","record":"' .. id .. '","fields":' .. fields(n) .. '}'
  end
  return "[" .. table.concat(all, ",") .. "]"
end

local function bothy()
  local pulls, where = "", space()
  if limits[kind] then
    local point = points[1 + number % #points]
    local cursor
    where, cursor = point:match("^(%S+) (.+)$")
    pulls = ',"pulls":[{"container":"","children":true,"cursor":"' .. cursor .. '"}]'
  end
  local body = '{"device":"d' .. number % 1000 .. '","limit":' .. (limits[kind] or 25)
    .. ',"operations":' .. (batches[kind] and operations() or "[]") .. pulls .. "}"
  return wrk.format("POST", "/v1/spaces/" .. where .. "/sync", nil, body)
end

local function kinto()
  if limits[kind] then
    local since = points[1 + number % #points]
    return wrk.format("GET", "/v1/buckets/load/collections/hot/records?_sort=last_modified&_limit=" .. limits[kind]
      .. "&_since=" .. since)
  end
  local path = "/buckets/load/collections/" .. space() .. "/records/" .. name .. "-" .. number .. "-"
  if kind == "push1" then return wrk.format("PUT", "/v1" .. path .. "1", nil, '{"data":' .. fields(1) .. "}") end
  local all = {}
  for n = 1, batches[kind] do
    all[n] = '{"method":"PUT","path":"' .. path .. n .. '","body":{"data":' .. fields(n) .. '}}'
  end
  return wrk.format("POST", "/v1/batch", nil, '{"requests":[' .. table.concat(all, ",") .. "]}")
end

function request()
  number = number + 1
  return server == "kinto" and kinto() or bothy()
end

function delay() return delayed == 0 and 0 or math.random(delayed * 0.5, delayed * 1.5) end

function done(summary, latency)
  local errors, inside, refused = summary.errors, 0, 0
  for _, thread in ipairs(threads) do
    inside, refused = inside + thread:get("written"), refused + thread:get("unwritten")
  end
  io.write(string.format(
    'RESULT {"requests":%d,"seconds":%.6f,"p50":%.3f,"p99":%.3f,"refused":%d,"errors":%d,"written":%d,"unwritten":%d}\n',
    summary.requests, summary.duration / 1e6, latency:percentile(50) / 1000, latency:percentile(99) / 1000,
    errors.status, errors.connect + errors.read + errors.write + errors.timeout, inside, refused))
end
