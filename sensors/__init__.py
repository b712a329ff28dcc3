"""What starts runs and adds partitions by itself."""

import os

# Between two ticks. More than the default where many partitions make a tick long.
TICK_SECONDS = int(os.environ.get("BINDBENCH_TICK_SECONDS") or 30)
