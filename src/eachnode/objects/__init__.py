"""What things are: frozen values read from Kubernetes JSON, and the pure rules of the API's own language.

Nothing here reaches a network, a disk or a clock. Everything above may import this; this imports nothing above.
"""
