-- Sets a key until a full second: up to one too long tells nobody anything, and few of them have to be written as digits.
-- In milliseconds, since Redis rewrites a command that expires a key in any other way.
local digits = {}
local function put(index, value, ends)
  -- A caller's instants pass at no speed of their own: what they leave stays an hour at least.
  local second = ceil((ARGV[1] == '' and ends or clock + max(ends - now, 3600000000)) / 1000000)
  local until_second = digits[second]
  if not until_second then
    until_second = string.format('%.0f000', second)
    digits[second] = until_second
  end
  call('SET', KEYS[index], value, 'PXAT', until_second)
end
