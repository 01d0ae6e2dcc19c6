-- Everything that is not a single check of a bucket or a window.
make_batches = function(batches)
local slow_path
-- What is seldom needed, made when it first is.
local slow = setmetatable({}, {
  __index = function(self, name)
    setmetatable(self, nil)
    slow_path(self)
    return self[name]
  end,
})
