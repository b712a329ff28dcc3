"""Where shards are computed: in this process or in worker processes."""
