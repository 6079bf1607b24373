"""The hot loops, by idea: `backup` (intervals), `reach` (who lies below whom), `loop` (one round), `draw`."""
