"""Pods: what they may say, what is filled in, how they change, and what is asked of them; `kind` puts it together."""
