-- The commonest question by far, answered without making a table: one enforced check of a bucket or a window whose state
-- is an instant and a count, and which nothing odd is known of. Whatever is not so is left to a batch.

-- What such states are read from and written as.
local TWO = { '>I7I1', '>I7I2', '>I7I3', '>I7I4' }

-- What each key was found with, and for those that only such questions have named: the quota, the state, whether it is new.
local raws, single_of, instants, counts, changed = {}, {}, {}, {}, {}

-- Returns the value of a key, false where there is none, the error where it is of another type. Any other error ends the
-- call: it is not the key's.
local function raw_of(index)
  local raw = raws[index]
  if raw == nil then
    raw = redis.pcall('GET', KEYS[index])
    if raw and raw.err and sub(raw.err, 1, 9) ~= 'WRONGTYPE' then
      call('GET', KEYS[index])
    end
    raws[index] = raw
  end
  return raw
end

-- Reads a key that nothing in this call has named yet; returns whether it is one for this file.
local function single_read(key, q)
  local raw = raw_of(key)
  if raw then
    local code = q.code
    local behind = #code + 1
    local form = TWO[#raw - behind - 6]
    if not form or sub(raw, 1, behind - 1) ~= code then
      return false
    end
    instants[key], counts[key] = unpack(form, raw, behind)
  end
  single_of[key] = q
  return true
end

-- Returns the state that a cost leaves in a bucket whose rate is a unit in so long; false when it is refused, nil when
-- the state is dated after now.
local function single_token(q, mark, whole, cost)
  local units = mark and floor((now - mark) / q.q) or q.limit
  if units < 0 then
    return nil
  end
  whole = mark and whole + units or units
  if whole >= q.limit then
    whole, mark = q.limit, now
  else
    mark = mark + units * q.q
  end
  if whole < cost then
    return false
  end
  return mark, whole - cost
end

-- Returns the same of a window; nil when the state ends later than any window of now.
local function single_window(q, ends, count, cost)
  local latest = q.latest
  if not latest then
    latest = latest_end(q)
    q.latest = latest
  end
  if not ends or ends <= now then
    ends, count = latest, 0
  elseif ends > latest then
    return nil
  end
  if count + cost > q.limit then
    return false
  end
  return q.kind == HIT and ends or latest, count + cost
end

-- Decides a batch of one check that begins at `at`; returns its flag and the place behind it, or nil when it has to be
-- decided as a batch.
local function single(at)
  local key, quota, flag, cost, behind = unpack('>I2I2BI4', text, at)
  local q = quotas[quota]
  local decide_single = q.single
  if not decide_single or flag ~= 2 or cost == 0 or cells[key] then
    return nil
  end
  local held = single_of[key]
  if held ~= q and (held or not single_read(key, q)) then
    return nil
  end
  local instant, count = decide_single(q, instants[key], counts[key], cost)
  if instant then
    instants[key], counts[key], changed[key] = instant, count, true
    return '1', behind
  elseif instant == false then
    return '0', behind
  end
  return nil
end

-- Returns the function that decides a quota alone, if there is one. Nothing is kept at the last instant there is.
local function single_for(q)
  local kind = q.kind
  if now == LAST then
    return nil
  end
  return (kind == TOKEN and single_token) or (kind <= MONTH and single_window) or nil
end
