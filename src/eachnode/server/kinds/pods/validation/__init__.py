"""What is wrong with a pod, told in the reference's words; `spec` puts it together."""
