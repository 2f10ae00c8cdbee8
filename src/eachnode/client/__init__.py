"""The one door through which every loop reaches an API server, and what stands behind or around it."""
