-- Sets a key. A second too long tells nobody anything, and few seconds have to be written out as digits.
local digits = {}
local function put(index, value, ends)
  -- A caller's instants pass at no speed of their own: what they leave stays an hour at least.
  local second = ceil((ARGV[1] == '' and ends or clock + max(ends - now, 3600000000)) / 1000000)
  local until_second = digits[second]
  if not until_second then
    until_second = string.format('%.0f', second)
    digits[second] = until_second
  end
  call('SET', KEYS[index], value, 'EXAT', until_second)
end
