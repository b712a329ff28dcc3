"""What the assets run on: the suite, the store, the engine and the model of each role."""
