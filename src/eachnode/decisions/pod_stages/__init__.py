"""The life of a simulated pod: which state it is in, what may happen next and after how long, and the status it gets.

view.py     the pod and node as the simulated kubelet reads them
states.py   the one word for how far a pod has come, derived from its status alone (so a restart forgets nothing)
stages.py   stages as data: when, after which delay, what next; and the choice between those that fit
status.py   the status that a pod has in each state
containers.py  those of its containers
room.py     what a kubelet refuses: taken host ports, too little room
"""
