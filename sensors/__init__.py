"""What starts runs and adds partitions by itself."""
