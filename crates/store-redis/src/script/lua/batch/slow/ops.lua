  local PLACES = { [0] = 'instant', 'clock', 'hit', 'attempt', 'tail' }

  -- Gives charges back: of each key that is known and whose state was last written under the charge's quota.
  local function refunds(count, text, place)
    local flag = '-'
    for _ = 1, count do
      local key, quota, what, charged_at, units, closes, opened
      key, quota, what, charged_at, units, place = unpack('>I2I2BI7I4', text, place)
      local charge = { charged_at = charged_at, units = units, place = PLACES[what] }
      if what == 4 then
        local micros, part, whole
        micros, part, whole, place = unpack('>I7I4I4', text, place)
        charge.tail = { micros = micros, sub = part, whole = whole }
      elseif what > 0 and what < 4 then
        closes, opened, place = unpack('>I7B', text, place)
        charge.closes, charge.opened = closes, opened == 1
      end
      local q = quotas[quota]
      local cell = cell_for(key, q)
      if cell.bad then
        flag = 'x'
      elseif what == 5 then
        cell.current, cell.left, cell.dirty, cell.several = nil, {}, true, true
      else
        cell.several = true
        slow.forget(cell)
        local current = cell.current
        if current and current.q.code == q.code then
          local st = slow.refund(q, current.st, charge)
          if st then
            cell.current, cell.dirty = { q = q, st = st }, true
          end
        end
      end
    end
    return flag, place
  end

  -- Carries out a refund, a reset or an inspection; returns its flag and the place behind it.
  slow.op = function(kind, count, text, place)
    if kind == 3 then
      return refunds(count, text, place)
    end
    local key
    key, place = unpack('>I2', text, place)
    local cell = cells[key] or open(key)
    if kind == 4 then
      -- Also of what nobody can read: this is how it is got rid of.
      cell.bad, cell.parsed, cell.several = nil, true, true
      cell.current, cell.left, cell.dirty = nil, {}, true
      return '-', place
    end
    cell.several = true
    if not cell.parsed and not cell.bad and cell.raw then
      parse(cell)
    end
    cell.parsed = true
    return cell.bad and 'x' or '-', place
  end
