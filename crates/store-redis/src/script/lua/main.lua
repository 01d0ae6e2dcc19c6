for i = 3, #ARGV do
  local q = quota_of(ARGV[i], 1)
  q.single = single_for(q)
  quotas[i - 2] = q
end

local place, asked, flags = 1, 0, {}
while place < #text do
  local kind, count = byte(text, place, place + 1)
  local flag, behind
  if kind == 1 and count == 1 then
    flag, behind = single(place + 2)
  end
  if not flag then
    flag, behind = batches.question(kind, count, place + 2)
  end
  asked, place = asked + 1, behind
  flags[asked] = flag
end

-- What is written is known before anything is.
for index, q in pairs(single_of) do
  if changed[index] then
    local instant, count = instants[index], counts[index]
    local form = TWO[(count < 256 and 1) or (count < 65536 and 2) or (count < 16777216 and 3) or 4]
    local ends = q.kind == TOKEN and instant + (q.limit - count) * q.q or instant
    put(index, q.code .. pack(form, instant, count), min(ends, LAST))
  end
end
if next(cells) then
  batches.write()
end

local reply = { string.format('%.0f', now), table.concat(flags) }
for index = 1, #KEYS do
  if cells[index] then
    reply[index + 2] = batches.found(index)
  else
    reply[index + 2] = raws[index]
  end
end
return reply
