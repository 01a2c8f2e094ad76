"""What runs on each instance: it does what control orders, and keeps the stage's state safe.

A boot recipe, orders and the metadata service come in; reports, committed checkpoints and what the stage
printed leave. It never decides about instances or attempts. If the control node is away, it goes on
training and committing. Runs on Python 3.10 and with nothing of ours but model, objectstore and checkpoint.
"""
