-- Reads the checks of a batch; returns them, or nil when one names a key of which nothing can be made, and the place
-- behind them.
local function batch(count, place)
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
  return not bad and checks or nil, place
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

-- Answers a question of any kind; returns its flag and the place behind it.
batches.question = function(kind, count, place)
  if kind > 2 then
    return slow.op(kind, count, text, place)
  end
  local checks
  checks, place = batch(count, place)
  return checks and run(checks, kind == 2) or 'x', place
end

-- Returns the end of the calendar's window that holds an instant.
batches.calendar_end = function(kind, micros)
  return slow.calendar_end(kind, micros)
end
