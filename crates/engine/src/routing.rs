//! From two GPUs to the resources between them.
