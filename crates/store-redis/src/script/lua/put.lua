local frexp, digits = math.frexp, {}

-- Sets a key until an instant with few digits, a sixteenth later at most, which tells nobody anything: many keys of a call
-- share it, and it is written out once. In milliseconds, since Redis rewrites a command that expires a key in any other way.
local function put(index, value, ends)
  local left, step = ends - clock, 1000000
  if now ~= clock then
    -- A caller's instants pass at no speed of their own: what they leave stays an hour at least.
    left = max(ends - now, 3600000000)
  end
  if left > 32000000 then
    local _, exponent = frexp(left / 16000000)
    step = 2 ^ (exponent - 1) * 1000000
  end
  local instant = clock + left
  instant = instant + step - instant % step
  local until_instant = digits[instant]
  if not until_instant then
    until_instant = string.format('%.0f', instant / 1000)
    digits[instant] = until_instant
  end
  call('SET', KEYS[index], value, 'PXAT', until_instant)
end
