local text, place = ARGV[2], 1
local flags = {}
for i = 3, #ARGV do
  quotas[i - 2] = quota_of(ARGV[i], 1)
end

-- Reads the checks of a batch and returns them; nil with `bad` when one names a key of which nothing can be made.
local function batch(count)
  local checks, bad = {}, false
  for i = 1, count do
    local key, quota, flag, cost, delay
    key, quota, flag, cost, place = unpack('>I2I2BI4', text, place)
    if flag % 4 < 2 then
      delay, place = unpack('>I7', text, place)
    end
    local q = quotas[quota]
    local cell = cell_for(key, q)
    bad = bad or cell.bad
    checks[i] = { cell = cell, q = q, cost = cost, delay = delay, shadow = flag % 2 == 1 }
  end
  return not bad and checks or nil
end

-- Decides a batch: all of its enforced checks are charged or none.
local function run(checks, peek)
  local undo, admitted = {}, true
  for i, check in ipairs(checks) do
    local cell, q = check.cell, check.q
    undo[i] = { cell.current, cell.left, cell.dirty }
    local before = state_for(cell, q)
    local passes, st = true, nil
    if check.cost > 0 then
      passes, st = decide(q, before, check.cost, check.delay)
      if not passes and before then
        st = slow.redate(q, before)
      end
    elseif before and before.seen then
      log_look(q, before)
    end
    admitted = admitted and (passes or check.shadow)
    change(cell, q, before, st)
  end
  if admitted and not peek then
    return '1'
  end
  for i = #checks, 1, -1 do
    local cell = checks[i].cell
    cell.current, cell.left, cell.dirty = undo[i][1], undo[i][2], undo[i][3]
  end
  if not peek then
    for _, check in ipairs(checks) do
      local before = state_for(check.cell, check.q)
      change(check.cell, check.q, before, before and slow.redate(check.q, before))
    end
  end
  return admitted and '1' or '0'
end

while place <= #text do
  local kind, count
  kind, count, place = unpack('>BB', text, place)
  local flag
  if kind <= 2 then
    local checks = batch(count)
    flag = checks and run(checks, kind == 2) or 'x'
  else
    flag, place = slow.op(kind, count, text, place)
  end
  flags[#flags + 1] = flag
end

-- What is written is known before anything is. Writes that need memory come first: Redis refuses those only while nothing
-- has been written yet.
local gone = {}
for index, cell in pairs(cells) do
  if cell.dirty and not cell.bad then
    if cell.several then
      slow.forget(cell)
    end
    local current, ends, value = cell.current, 0, nil
    if current then
      ends = keep_until(current.q, current.st)
      if cell.left[1] then
        for _, held in ipairs(cell.left) do
          ends = max(ends, keep_until(held.q, held.st))
        end
        value = slow.value_bytes(current, cell.left)
      elseif ends > now then
        value = current.q.code .. state_bytes(current.q, current.st)
      end
    elseif cell.left[1] then
      for _, held in ipairs(cell.left) do
        ends = max(ends, keep_until(held.q, held.st))
      end
      value = slow.value_bytes(nil, cell.left)
    end
    if value then
      -- A caller's instants pass at no speed of their own: what they leave stays an hour at least.
      local millis = ARGV[1] == '' and ceil(ends / 1000) or ceil((clock + max(ends - now, 3600000000)) / 1000)
      call('SET', KEYS[index], value, 'PXAT', millis)
    elseif cell.raw then
      gone[#gone + 1] = KEYS[index]
    end
  end
end
for _, key in ipairs(gone) do
  call('DEL', key)
end

local reply = { string.format('%.0f', now), table.concat(flags) }
for index = 1, #KEYS do
  local cell = cells[index]
  if not cell or cell.bad or cell.foreign then
    reply[index + 2] = 0
  elseif cell.log and not cell.log.whole and not cell.several and #cell.raw > 1024 then
    reply[index + 2] = slow.log_reduced(cell.log, cell.raw, cell.of)
  else
    reply[index + 2] = cell.raw
  end
end
return reply
