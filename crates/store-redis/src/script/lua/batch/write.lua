-- Returns the value of a cell and the instant until which it is needed; nil when nothing of it is.
local function value_of_cell(cell)
  local current, left = cell.current, cell.left
  local ends = current and keep_until(current.q, current.st) or 0
  if not left[1] then
    return ends > now and current.q.code .. state_bytes(current.q, current.st) or nil, ends
  end
  for _, held in ipairs(left) do
    ends = max(ends, keep_until(held.q, held.st))
  end
  return slow.value_bytes(current, left), ends
end

-- Writes the keys of cells. Writes that need memory come first: Redis refuses those only while nothing has been written
-- yet.
batches.write = function()
  local gone = {}
  for index, cell in pairs(cells) do
    if cell.dirty and not cell.bad then
      if cell.several then
        slow.forget(cell)
      end
      local value, ends = value_of_cell(cell)
      if value then
        put(index, value, ends)
      elseif cell.raw then
        gone[#gone + 1] = KEYS[index]
      end
    end
  end
  for _, key in ipairs(gone) do
    call('DEL', key)
  end
end

-- Returns what the program is told of the key of a cell.
batches.found = function(index)
  local cell = cells[index]
  if cell.bad or cell.foreign then
    return 0
  elseif cell.log and not cell.log.whole and not cell.several and #cell.raw > 1024 then
    return slow.log_reduced(cell.log, cell.raw, cell.of)
  end
  return cell.raw
end
