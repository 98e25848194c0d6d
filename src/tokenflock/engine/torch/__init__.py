"""Every option of a Model in torch, in batches, on a GPU or on the CPU."""
