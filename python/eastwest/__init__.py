"""eastwest designs, proves, builds and runs the network of an AI cluster."""
