"""What is asked of a mechanism beyond its motion: reactions, mobility, statics, vibration, sensitivity."""
