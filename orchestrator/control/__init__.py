"""The loop that makes the world match: decide, perform, sweep.

Wakes, reports, providers' words and users' wishes come in; intents, launches, terminations and orders to
agents leave, each written down before it is done. `decide` is pure (draft, endings, seats, train,
preprocess, drills, jobend); `office` is the one door through which rows change; `settle`, `watch`, `sweep`
and `market` speak with providers; `desk` answers the API; `loop` turns it all.
"""
