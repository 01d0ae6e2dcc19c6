-- Everything that is seldom needed.
slow_path = function(slow)
