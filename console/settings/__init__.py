"""Engine-neutral settings: where a value lives, how to change it, and the four levels of its truth."""
