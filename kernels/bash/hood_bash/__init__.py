"""The bash kernel: one bash with state, driven by the guest over one socket.

It speaks the protocol of the Python kernel. bash itself writes to descriptors 1 and 2; this
program only hands it the cells and learns how they ended, over descriptors of its own, never
by reading output. Standard library only.

Reading order: `entry`, `kernel` (the loop), `shell` (the bash process), `frames`.
"""
