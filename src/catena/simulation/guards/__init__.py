"""What says up to when a motion goes on at once: times that no step passes, and events whose functions change sign."""
