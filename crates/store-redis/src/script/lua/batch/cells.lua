-- Begins a cell: what is known of a key, its value, the state that was written last with its quota, and those left under
-- others. A key of which nothing can be made is bad, and whoever names it is told.
local function open(index)
  local raw, q = raw_of(index), single_of[index]
  local cell = { raw = raw, left = {} }
  cells[index] = cell
  if type(raw) == 'table' then
    cell.bad, cell.foreign = true, true
  elseif q then
    -- From here on it is a batch's.
    local instant, count = instants[index], counts[index]
    local st = instant and (q.kind == TOKEN and { micros = instant, sub = 0, whole = count }
      or { ends = instant, count = count, early = 0 })
    cell.current, cell.dirty, cell.parsed = st and { q = q, st = st }, changed[index], true
    single_of[index] = nil
  end
  return cell
end

-- Makes states of a value in which the quota at hand was not the last.
local function parse(cell)
  local ok, current, left = pcall(slow.value_of, cell.raw)
  if not ok then
    cell.bad = true
    return
  end
  cell.current, cell.left, cell.parsed, cell.several = current, left, true, true
  slow.forget(cell)
end

-- Returns the cell of a key, its current state read if it is of this quota, or else every state. At the last instant there
-- is nothing is kept.
local function cell_for(index, q)
  local cell = cells[index] or open(index)
  if cell.parsed or cell.bad then
    if not cell.bad and (cell.several or now == LAST or (cell.current and cell.current.q.code ~= q.code)) then
      slow.forget(cell)
    end
    return cell
  end
  local raw = cell.raw
  if not raw then
    cell.parsed = true
  elseif sub(raw, 1, #q.code) == q.code and now < LAST then
    local st = state_of(q, raw, #q.code + 1)
    if not st then
      cell.bad = true
      return cell
    end
    cell.current, cell.parsed = { q = q, st = st }, true
    if st.seen then
      cell.log, cell.of = st.seen, q
    end
  else
    parse(cell)
  end
  return cell
end

-- Returns the state that a check of a quota is held against.
local function state_for(cell, q)
  local current = cell.current
  if current and current.q.code == q.code then
    return current.st
  elseif not current and not cell.left[1] then
    return nil
  end
  cell.several = true
  return slow.state(cell, q)
end

-- Writes a state that was decided on `before`.
local function change(cell, q, before, st)
  local current = cell.current
  if (not current and not cell.left[1]) or (current and current.q.code == q.code) then
    if st then
      cell.current, cell.dirty = { q = q, st = st }, true
    end
    return
  end
  cell.several = true
  slow.change(cell, q, before, st)
end
